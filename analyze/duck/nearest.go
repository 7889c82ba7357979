package duck

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"tokwatt/analyze"
)

// unknownName is a message of DuckDB about a name that it does not know.
type unknownName struct {
	message *regexp.Regexp // its last group is the name
	what    string
	known   string // a query of the names that there are
	where   string // how a user finds them
}

const (
	columnsKnown = "select distinct column_name as c from duckdb_columns() where not internal order by c"
	columnsShown = "DESCRIBE TABLE_NAME lists the columns"
)

var unknownNames = []unknownName{
	{regexp.MustCompile(`Table with name (\S+) does not exist`), "table",
		"select view_name as c from duckdb_views() where not internal order by c", "SHOW TABLES lists them"},
	{regexp.MustCompile(`Referenced column "(.+?)" not found`), "column", columnsKnown, columnsShown},
	{regexp.MustCompile(`(?:Values list|Table) ".+?" does not have a column named "(.+?)"`), "column", columnsKnown, columnsShown},
	{regexp.MustCompile(`Function with name (\S+) does not exist`), "function",
		"select distinct function_name as c from duckdb_functions() where regexp_full_match(function_name, '[a-z]\\w*') order by c", "they are those of DuckDB"},
}

// candidates are the columns of the tables in FROM, where DuckDB lists some.
var candidates = regexp.MustCompile(`Candidate bindings: ?:? *(.*)`)

// nameFault says of an unknown name which one is nearest, for DuckDB proposes
// what is far too, and for a column behind the name of a view nothing; of a
// column that is elsewhere, where. nil: the message is of something else.
func (db *DB) nameFault(ctx context.Context, message string) *Error {
	message, _, _ = strings.Cut(message, "\n\nLINE ")
	for _, u := range unknownNames {
		m := u.message.FindStringSubmatch(message)
		if m == nil {
			continue
		}
		if err := db.need(ctx, named("show")); err != nil { // every name, to choose from
			return nil
		}
		name := m[len(m)-1]
		hint := u.where
		if tables := db.tablesWith(ctx, name); u.what == "column" && len(tables) > 0 {
			return &Error{Message: fmt.Sprintf("there is no column %s here, it is in %s: %s", name, strings.Join(tables, ", "), hint)}
		}
		known := db.names(ctx, u.known)
		if c := candidates.FindStringSubmatch(message); c != nil && u.what == "column" {
			known = nil
			for _, q := range quoted.FindAllStringSubmatch(c[1], -1) {
				known = append(known, q[1])
			}
		}
		if near := analyze.Nearest(unqualified(name), known); near != "" {
			hint = "did you mean " + near + "? " + hint
		}
		return &Error{Message: fmt.Sprintf("there is no %s %s: %s", u.what, name, hint)}
	}
	return nil
}

var quoted = regexp.MustCompile(`"([^"]+)"`)

// unqualified is a name without that of its schema or table.
func unqualified(name string) string {
	if _, bare, qualified := strings.Cut(name, "."); qualified {
		return bare
	}
	return name
}

// tablesWith are the tables and views that have a column of this name, but
// those that only other views are made of.
func (db *DB) tablesWith(ctx context.Context, column string) []string {
	return db.names(ctx, `select distinct table_name from duckdb_columns()
		where not internal and lower(column_name) = lower(?) and not list_contains([`+helperList()+`], table_name) order by all`, column)
}

func helperList() string {
	var list []string
	for _, name := range helperViews() {
		list = append(list, quote(name))
	}
	return strings.Join(list, ", ")
}

// names are the words of a query of one column; none where it fails, for the
// fault that they were to explain is told all the same.
func (db *DB) names(ctx context.Context, sql string, args ...any) []string {
	set, err := db.conn.query(ctx, sql, args...)
	if err != nil {
		return nil
	}
	defer set.Close()
	var out []string
	for row := range newRows(set).All() {
		if name, ok := row[0].(string); ok {
			out = append(out, name)
		}
	}
	return out
}
