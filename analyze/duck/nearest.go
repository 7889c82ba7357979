package duck

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// unknownName is a message of DuckDB about a name that it does not know.
type unknownName struct {
	message *regexp.Regexp // its last group is the name
	what    string
	known   string // a query of the names that there are
	where   string // how a user finds them
}

const (
	columnsKnown = "select distinct column_name as c from duckdb_columns() where not internal"
	columnsShown = "DESCRIBE TABLE_NAME lists the columns"
)

var unknownNames = []unknownName{
	{regexp.MustCompile(`Table with name (\S+) does not exist`), "table",
		"select view_name as c from duckdb_views() where not internal", "SHOW TABLES lists them"},
	{regexp.MustCompile(`Referenced column "(.+?)" not found`), "column", columnsKnown, columnsShown},
	{regexp.MustCompile(`(?:Values list|Table) ".+?" does not have a column named "(.+?)"`), "column", columnsKnown, columnsShown},
	{regexp.MustCompile(`Function with name (\S+) does not exist`), "function",
		"select distinct function_name as c from duckdb_functions() where regexp_full_match(function_name, '[a-z]\\w*')", "they are those of DuckDB"},
}

// candidates are the columns of the tables in FROM, where DuckDB lists some.
var candidates = regexp.MustCompile(`Candidate bindings: ?:? *(.*)`)

// nameFault says of an unknown name which one is nearest, for DuckDB proposes
// what is far too, and for a column behind the name of a view nothing. nil:
// the message is of something else.
func (db *DB) nameFault(ctx context.Context, message string) *Error {
	message, _, _ = strings.Cut(message, "\n\nLINE ")
	for _, u := range unknownNames {
		m := u.message.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		known := u.known
		if c := candidates.FindStringSubmatch(message); c != nil && u.what == "column" {
			known = "select c from (values " + rowsOf(quoted.FindAllStringSubmatch(c[1], -1)) + ") v(c)"
		}
		name := m[len(m)-1]
		if near := db.nearest(ctx, name, known); near != "" {
			return &Error{Message: fmt.Sprintf("there is no %s %s: did you mean %s? %s", u.what, name, near, u.where)}
		}
		return &Error{Message: fmt.Sprintf("there is no %s %s: %s", u.what, name, u.where)}
	}
	return nil
}

var quoted = regexp.MustCompile(`"([^"]+)"`)

func rowsOf(names [][]string) string {
	rows := make([]string, len(names))
	for i, n := range names {
		rows[i] = "(" + quote(n[1]) + ")"
	}
	return strings.Join(rows, ", ")
}

// nearest is the known name most like the given one; empty where none is. A
// name that begins with the given one is near however long it is.
func (db *DB) nearest(ctx context.Context, name, known string) string {
	const most = `select c from (%s) where starts_with(c, ?1) or damerau_levenshtein(c, ?1) <= greatest(1, length(?1) // 3)
		order by damerau_levenshtein(c, ?1), c limit 1`
	name = strings.ReplaceAll(strings.ToLower(name), " ", "_")
	if _, bare, qualified := strings.Cut(name, "."); qualified {
		name = bare
	}
	set, err := db.conn.query(ctx, fmt.Sprintf(most, known), name)
	if err != nil {
		return "" // the fault itself is still told
	}
	defer set.Close()
	for row := range newRows(set).All() {
		if near, ok := row[0].(string); ok {
			return near
		}
	}
	return ""
}
