package duck

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// run runs a statement that is our own, or was let through.
func (db *DB) run(ctx context.Context, sql string) (*Rows, error) {
	var set resultSet
	err := db.mending(ctx, func() (err error) {
		if err := db.need(ctx, named(sql)); err != nil {
			return err
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
	if _, err := db.follow(ctx); err != nil {
		return err
	}
	err := do()
	if err != nil && mayBeDamage(err) {
		if moved, listErr := db.follow(ctx); listErr == nil && moved {
			err = do()
		}
	}
	if err != nil && db.mend != nil && mayBeDamage(err) {
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
