package analyze

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// piece is the rows of one session in a file.
type piece struct {
	path    string // below the root
	session string
	from, n int64 // rows
	// beside are values that its rows have in columns that are not in the file.
	beside map[string]string
}

// pieces finds the rows of sessions in files. A shared file is asked itself: a
// manifest may be damaged, or be of a copy of the dataset that was laid over it.
type pieces struct {
	root   string
	shared map[string][]piece // by path, once asked
}

func piecesIn(root string) *pieces { return &pieces{root: root, shared: map[string][]piece{}} }

// of is the piece that a session's manifest says is in a file.
func (w *pieces) of(session string, f ManifestFile) (piece, error) {
	if !f.Shared {
		return piece{path: f.Path, session: session, n: f.Rows}, nil
	}
	all, err := w.in(f.Path)
	if err != nil {
		return piece{}, err
	}
	p := piece{path: f.Path, session: session}
	if i := slices.IndexFunc(all, func(p piece) bool { return p.session == session }); i >= 0 {
		p = all[i]
	}
	if p.n != f.Rows {
		return p, fmt.Errorf("%s: it has %d rows of session %s instead of %d", f.Path, p.n, session, f.Rows)
	}
	return p, nil
}

// in are the pieces of a shared file.
func (w *pieces) in(path string) ([]piece, error) {
	if all, known := w.shared[path]; known {
		return all, nil
	}
	all, err := layoutOf(w.root, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w.shared[path] = all
	return all, nil
}

// layoutOf says which rows of a file are of which session.
func layoutOf(root, path string) (out []piece, err error) {
	defer func() { // the library does not expect every damage
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	r, err := file.OpenParquetFile(filepath.Join(root, filepath.FromSlash(path)), false)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	column := r.MetaData().Schema.ColumnIndexByName("session_id")
	if column < 0 {
		return nil, fmt.Errorf("it has no column session_id")
	}
	add := func(session string, n int64) error {
		last := len(out) - 1
		if last >= 0 && out[last].session == session {
			out[last].n += n
			return nil
		}
		if slices.ContainsFunc(out, func(p piece) bool { return p.session == session }) {
			return fmt.Errorf("session %s is in two places of it", session)
		}
		var from int64
		if last >= 0 {
			from = out[last].from + out[last].n
		}
		out = append(out, piece{path: path, session: session, from: from, n: n})
		return nil
	}
	for g := range r.NumRowGroups() {
		if err := sessionsOf(r.RowGroup(g), column, add); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sessionsOf hands on the sessions of a row group, in order.
func sessionsOf(group *file.RowGroupReader, column int, add func(session string, n int64) error) error {
	chunk, err := group.MetaData().ColumnChunk(column)
	if err != nil {
		return err
	}
	if stats, err := chunk.Statistics(); err == nil && stats != nil && stats.HasMinMax() && stats.NullCount() == 0 {
		if s, ok := stats.(*metadata.ByteArrayStatistics); ok && bytes.Equal(s.Min(), s.Max()) {
			return add(string(s.Min()), group.NumRows())
		}
	}
	var v values
	if err := v.read(group, column); err != nil {
		return err
	}
	for _, session := range v.texts {
		if err := add(string(session), 1); err != nil {
			return err
		}
	}
	return nil
}

// isMerged reports whether a file is one of those that Compact made.
func isMerged(path string) bool {
	return strings.HasPrefix(filepath.Base(path), mergedName) && strings.HasSuffix(path, ".parquet")
}

// mergedIn are the merged files of a partition.
func mergedIn(root string, p partition) ([]string, error) {
	var out []string
	for _, t := range Tables() {
		dir := p.dir(t.Name)
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for _, e := range entries {
			if isMerged(e.Name()) {
				out = append(out, filepath.ToSlash(filepath.Join(dir, e.Name())))
			}
		}
	}
	return out, nil
}
