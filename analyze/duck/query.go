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
func (db *DB) run(ctx context.Context, sql string, args ...any) (*Rows, error) {
	var set resultSet
	err := db.mending(ctx, func() (err error) {
		set, err = db.conn.query(ctx, sql, args...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newRows(set), nil
}

// mending does what reads the dataset, and again once a damaged file that may
// have stopped it was made anew.
func (db *DB) mending(ctx context.Context, do func() error) error {
	err := do()
	if err == nil || db.mend == nil || !mayBeDamage(err) {
		return sqlError(err)
	}
	again, mendErr := db.mend(ctx)
	switch {
	case mendErr != nil:
		return mendErr
	case again:
		return sqlError(do())
	}
	return sqlError(err)
}

// WriteParquet writes a query's result to a Parquet file, which appears whole
// or not at all. Integers wider than 64 bits, as sums are, become doubles.
//
// DuckDB writes into the session's own folder, the only one outside the
// datasets that the lock lets it touch, and the file is moved from there: so
// the user's SQL never runs in a session that is open.
func (db *DB) WriteParquet(ctx context.Context, sql, path string) error {
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
		return db.conn.exec(ctx, "copy (from query("+quote(vetted)+")) to "+quote(made)+" (format parquet, compression zstd)")
	})
	if err != nil {
		return err
	}
	if err := moveFile(made, path); err != nil {
		return fmt.Errorf("result not written to %s: %w", path, err)
	}
	return nil
}

// moveFile copies, since the temporary folder is often another disk, and
// renames in the end, so that path is never half a file.
func moveFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	if _, err = io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err = out.Chmod(0o644); err != nil {
		out.Close()
		return err
	}
	if err = out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}
