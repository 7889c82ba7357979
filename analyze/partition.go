package analyze

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tokwatt/collect"
)

// partition says where in a dataset the rows of a session are: the key columns
// host and date, and the session. The columns are in the path and not in the
// files: engines that take both disagree on which one rules, and some refuse
// a table that has a column twice.
type partition struct {
	session string
	host    string
	date    string // start of the session in UTC, YYYY-MM-DD; its import where that is not known
}

// unknownHost stands for a host without a name: as an empty partition value it
// would be NULL, and no join on it would match.
const unknownHost = "unknown"

func partitionOf(s *collect.Session) (partition, error) {
	day := s.StartedAt
	if day.IsZero() && s.Imported != nil {
		day = s.Imported.ImportedAt
	}
	p := partition{session: s.ID, host: shortHost(s.Host.Name), date: day.UTC().Format(time.DateOnly)}
	if p.host == "" {
		p.host = unknownHost
	}
	if !fileName(s.ID) {
		return p, fmt.Errorf("session id %q can't be a file name: it must be letters, digits and dashes", s.ID)
	}
	return p, nil
}

// longestHost is how long an escaped host may be, in bytes: with "host=" it is
// the name of a folder, of which file systems take 255.
const longestHost = 240

// shortHost is a host's name as a folder can have it: one that is too long is
// cut, and has a sum of all of it at its end.
func shortHost(name string) string {
	if len(escapePartition(name)) <= longestHost {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "~" + hex.EncodeToString(sum[:4])
	runes := []rune(validUTF8(name))
	for len(escapePartition(string(runes)+tail)) > longestHost {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + tail
}

// fileName reports whether an id may stand in a path as it is.
func fileName(id string) bool {
	for _, c := range id {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return id != "" && len(id) <= 100
}

// dir is the folder of a table's file, below the root.
func (p partition) dir(table string) string {
	return filepath.Join("table="+table, "host="+escapePartition(p.host), "date="+p.date)
}

// path is a table's file, below the root.
func (p partition) path(table string) string {
	return filepath.Join(p.dir(table), p.session+".parquet")
}

// escapePartition writes a value as Hive does in a path: each ASCII character
// but letters, digits, '-', '_' and '.' as % and two hex digits. Other
// characters stay as they are: Hive's rule for them is not bytes, and all
// readers take them literally.
func escapePartition(value string) string {
	var b strings.Builder
	for _, c := range validUTF8(value) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c >= 0x80:
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
