package duck

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// Query runs a user's statement: SELECT in all its forms, EXPLAIN, DESCRIBE,
// SHOW, SUMMARIZE. A fault in the SQL is an [*Error].
func (db *DB) Query(ctx context.Context, sql string) (*Rows, error) {
	vetted, err := db.vet(ctx, sql)
	if err != nil {
		return nil, err
	}
	return db.run(ctx, vetted)
}

// Ask runs a statement of the program's own. It is not looked at, which takes
// some milliseconds: nothing that a user wrote may be in it but as a literal.
func (db *DB) Ask(ctx context.Context, sql string) (*Rows, error) { return db.run(ctx, sql) }

// run runs a statement that is our own, or was let through.
func (db *DB) run(ctx context.Context, sql string) (*Rows, error) {
	var set resultSet
	err := db.mending(ctx, func() (err error) {
		if err := db.need(ctx, named(sql)); err != nil {
			return err
		}
		if set != nil { // of a try before
			set.Close()
		}
		set, err = db.conn.query(ctx, sql)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newRows(set), nil
}

// mending does what reads the dataset as it is now, and again where a file went
// meanwhile, or once a damaged one that may have stopped it was made anew.
func (db *DB) mending(ctx context.Context, do func() error) error {
	err := db.keepingUp(ctx, func() error {
		if err := db.follow(ctx); err != nil {
			return err
		}
		return do()
	})
	if err != nil && db.mend != nil && mayBeDamage(err) && !db.bindsAll(ctx, err) {
		again, mendErr := db.mend(ctx)
		if mendErr == nil && again {
			if mendErr = db.restart(ctx); mendErr == nil {
				err = do()
			}
		}
		if mendErr != nil {
			return mendErr
		}
	}
	if err == nil {
		return nil
	}
	if fault := db.nameFault(ctx, err.Error()); fault != nil {
		return fault
	}
	return sqlError(err)
}

// restless is after how many tries the datasets are held while a statement runs.
const restless = 3

// keepingUp does what reads the datasets, and again where a file that was listed
// went or was replaced meanwhile. What changes faster than that is held for the
// last try.
func (db *DB) keepingUp(ctx context.Context, do func() error) error {
	for range restless {
		before, err := db.now()
		if err != nil {
			return err
		}
		if err = do(); err != nil && !mayBeDamage(err) {
			return err
		}
		after, stateErr := db.now()
		still := slices.Equal(before, after) && !slices.ContainsFunc(after, changing)
		if stateErr != nil || still || err == nil && db.stillThere() {
			return err
		}
	}
	for _, root := range db.roots {
		release, err := analyze.HoldDataset(ctx, root)
		if err != nil {
			return err
		}
		defer release()
	}
	return do()
}

// changing reports whether a state is within a change: names are not final.
func changing(state int64) bool { return state%2 == 0 }

// now says at which instants the datasets are.
func (db *DB) now() ([]int64, error) {
	states := make([]int64, len(db.roots))
	for i, root := range db.roots {
		state, err := analyze.DatasetState(root)
		if err != nil {
			return nil, err
		}
		states[i] = state
	}
	return states, nil
}

// stillThere reports whether the files that were listed are those of now, and
// others: sessions that came since.
func (db *DB) stillThere() bool {
	files, _, err := db.list()
	if err != nil {
		return false
	}
	for table, was := range db.files {
		is := files[table]
		for path, sum := range was.sums {
			if now, found := is.sums[path]; !found || now != sum {
				return false
			}
		}
	}
	return true
}

// bindsAll reports whether an error about a name is the statement's, for which no
// file needs to be read through: the tables that are made have all their columns.
func (db *DB) bindsAll(ctx context.Context, err error) bool {
	class, _, _ := strings.Cut(err.Error(), " Error: ")
	if class != "Binder" && class != "Catalog" {
		return false
	}
	for _, t := range analyze.Tables() {
		if !db.made[t.Name] {
			continue
		}
		if err := db.conn.exec(ctx, "select * from "+t.Name+" limit 0"); err != nil {
			return false
		}
	}
	return true
}

// WriteParquet writes a query's result as a Parquet file. Integers wider than
// 64 bits, as sums are, become doubles.
//
// DuckDB writes into the session's own folder, the only one outside the
// datasets that the lock lets it touch, and the file is copied from there: so
// the user's SQL never runs in a session that is open, and w may be a pipe.
func (db *DB) WriteParquet(ctx context.Context, sql string, w io.Writer) error {
	explain, _, err := splitExplain(sql)
	if err != nil {
		return err
	}
	if explain != "" {
		return &Error{Message: "the plan of a query has no Parquet form: choose another format"}
	}
	vetted, err := db.vet(ctx, sql)
	if err != nil {
		return err
	}
	made := filepath.Join(db.scratch, "result.parquet")
	defer os.Remove(made)
	// query() parses its argument as one SELECT, so the text needs no splicing.
	err = db.mending(ctx, func() error {
		if err := db.need(ctx, named(vetted)); err != nil {
			return err
		}
		return db.conn.exec(ctx, "copy (from query("+quote(vetted)+")) to "+quote(made)+" (format parquet, compression zstd)")
	})
	if err != nil {
		return err
	}
	f, err := os.Open(made)
	if err != nil {
		return fmt.Errorf("the result is not to be found any more: %w", err)
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
