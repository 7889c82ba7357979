package duck

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// A table or view is made when the first statement names it: all of them take
// DuckDB 60 ms, most of it for views that the statement does not touch, and of a
// thousand sessions the files' names alone take as long.

// words finds what may name a relation.
var words = regexp.MustCompile(`[a-z_]+`)

// catalogue are the beginnings of words by which a statement looks at what
// relations there are.
var catalogue = []string{"show", "describe", "information_schema", "duckdb_", "pg_", "sqlite_", "pragma_"}

// named are the relations that a statement may read, in the order in which they
// build on each other. A word that is none in the statement may look like one.
func named(sql string) []string {
	all := slices.Concat(tableNames(), viewNames())
	found := map[string]bool{}
	queue := words.FindAllString(strings.ToLower(sql), -1)
	for len(queue) > 0 {
		word := queue[0]
		queue = queue[1:]
		switch {
		case slices.ContainsFunc(catalogue, func(c string) bool { return strings.HasPrefix(word, c) }):
			return all
		case found[word] || !slices.Contains(all, word):
			continue
		}
		found[word] = true
		if body, err := ViewSQL(word); err == nil {
			for _, m := range sources.FindAllStringSubmatch(body, -1) {
				queue = append(queue, m[1])
			}
		}
	}
	return slices.DeleteFunc(all, func(name string) bool { return !found[name] })
}

// sources finds what a view of ours reads.
var sources = regexp.MustCompile(`\b(?:from|join) \(?([a-z_]+)`)

func tableNames() []string {
	var names []string
	for _, t := range analyze.Tables() {
		names = append(names, t.Name)
	}
	return names
}

// need makes the relations of names that are not there yet. DuckDB opens files
// below a view when the view is made, so views are made over empty tables, and
// the loaders put in their place afterwards: files are opened once here, not
// once for each view above them.
func (db *DB) need(ctx context.Context, names []string) error {
	if slices.Contains(names, "requests") && db.files["requests"].mixed() {
		names = append([]string{"batches"}, names...) // the loader's
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return db.made[name] })
	var tables []analyze.Table
	for _, t := range analyze.Tables() {
		if !slices.Contains(names, t.Name) {
			continue
		}
		if err := db.createView(ctx, t.Name, emptyTable(t)); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		tables = append(tables, t)
	}
	for _, name := range viewNames() {
		if !slices.Contains(names, name) {
			continue
		}
		text, err := ViewSQL(name)
		if err != nil {
			return err
		}
		if name == "median_interval" { // 500 rows of numbers, that each mention of a view would read anew
			text = strings.Replace(text, "temp view", "temp table", 1)
		}
		if err := db.execAll(ctx, statements(text)); err != nil {
			return fmt.Errorf("view %s: %w", name, err)
		}
	}
	if err := db.loadTables(ctx, tables); err != nil {
		return err
	}
	for _, name := range names {
		db.made[name] = true
	}
	return nil
}

// loadTables puts the files that are listed behind tables.
func (db *DB) loadTables(ctx context.Context, tables []analyze.Table) error {
	for _, t := range tables {
		of := db.files[t.Name]
		var only string
		if of.shared && len(db.sessions) > 0 {
			only = literals(db.sessions)
		}
		if err := db.createView(ctx, t.Name, loader(t, of.groups, only)); err != nil {
			return fmt.Errorf("the files of table %s cannot be read: %s", t.Name, shorten(err.Error()))
		}
	}
	return nil
}

// narrowAtOnce is how many sessions narrowed takes at once: their rows are some
// tens of MB.
const narrowAtOnce = 16

// usualCases is how many cases a session may well have: of fewer, more sessions
// are taken at once.
const usualCases = 40

// narrowed calls do for what the filter picks, some sessions at a time, with the
// condition that picks it. Meanwhile stat_rows and batch_figures have the rows of
// these alone, as tables: the views of statistics mention them again and again,
// and each time the rows would be read, joined and planned anew.
func (db *DB) narrowed(ctx context.Context, f SummaryFilter, do func(where string) error) error {
	ids, atOnce := f.Sessions, narrowAtOnce
	var cases string
	if len(f.Cases) > 0 {
		cases = " and case_id in (" + numbers(f.Cases) + ")"
		atOnce *= max(1, usualCases/len(f.Cases))
	}
	if len(ids) == 0 {
		var err error
		if ids, err = db.Sessions(ctx); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(distinct(ids), atOnce) {
		where, err := db.ofSessions(ctx, some)
		if err != nil {
			return err
		}
		if where == "" {
			continue
		}
		where += cases
		if err = db.narrow(ctx, where); err == nil {
			err = do(where)
		}
		if wideErr := db.widen(context.WithoutCancel(ctx)); err == nil {
			err = wideErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// narrowViews are those that narrow makes tables, in the order in which they
// build on each other.
var narrowViews = []string{"stat_rows", "batch_figures"}

func (db *DB) narrow(ctx context.Context, where string) error {
	for _, name := range narrowViews {
		err := db.mending(ctx, func() error {
			rows := inline(name) + " where " + where
			if err := db.need(ctx, named(rows)); err != nil {
				return err
			}
			return db.execAll(ctx, []string{
				"create or replace temp table narrow_" + name + " as select * from " + rows,
				"create or replace temp view " + name + " as select * from narrow_" + name,
			})
		})
		if err != nil {
			return err
		}
		db.made[name] = true
	}
	return nil
}

// widen lets the views be made anew, with all rows.
func (db *DB) widen(ctx context.Context) error {
	for _, name := range narrowViews {
		if err := db.execAll(ctx, []string{"drop view if exists " + name, "drop table if exists narrow_" + name}); err != nil {
			return err
		}
		delete(db.made, name)
	}
	return nil
}

// inline is a view's SELECT in brackets, for the one statement that names it: to
// make the view takes as long as to plan that.
func inline(view string) string {
	text, err := ViewSQL(view)
	if err != nil {
		panic(err) // names are ours
	}
	_, body, _ := strings.Cut(comments.ReplaceAllString(text, ""), " as\n")
	return "(" + strings.TrimRight(body, ";\n ") + ")"
}

var comments = regexp.MustCompile(`(?m)^--.*$`)
