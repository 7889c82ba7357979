package duck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// ErrUnavailable is what a build without cgo says: DuckDB is C++.
var ErrUnavailable = errors.New("this build of tokwatt has no SQL engine: build it with cgo (CGO_ENABLED=1 and a C compiler), " +
	"or archive the sessions and ask the dataset from a build that has it; collect, list, show and archive work without")

// Options say what a DB reads and what it may use.
type Options struct {
	Roots       []string // dataset folders; together they are one dataset. A root that does not exist holds nothing
	Sessions    []string // read the files of these sessions alone, whole ids; none: of all
	MemoryLimit int64    // bytes; 0: four fifths of the machine's memory
	Threads     int      // 0: one a core; 1 makes sums of doubles reproducible
	// Mend is called when a statement failed on what may be a damaged file. It
	// reports whether files were made anew under their names: then the
	// statement runs once more. Its error takes the place of the statement's.
	// Nil: nothing can be done.
	Mend func(context.Context) (bool, error)
}

// Validate reports all faults of the options at once.
func (o Options) Validate() error {
	var errs []error
	if len(o.Roots) == 0 {
		errs = append(errs, errors.New("no dataset folder to read: name at least one"))
	}
	for _, id := range o.Sessions {
		if id == "" || strings.ContainsAny(id, `*?[]\/`) {
			errs = append(errs, fmt.Errorf("%q is no session id: give a whole one", id))
		}
	}
	if o.MemoryLimit < 0 {
		errs = append(errs, fmt.Errorf("a memory limit of %d bytes is not possible: give 0 or more", o.MemoryLimit))
	}
	if o.Threads < 0 {
		errs = append(errs, fmt.Errorf("%d threads are not possible: give 0 or more", o.Threads))
	}
	return errors.Join(errs...)
}

// DB is a locked SQL session over datasets. It must be closed.
type DB struct {
	conn     *connection
	roots    []string               // as SQL sees them
	sessions []string               // as Options has them
	states   []int64                // of the roots, when their files were listed
	files    map[string]*tableFiles // by table, as they were then
	options  Options
	made     map[string]bool // tables and views that are there
	newer    int             // the newest schema version among them
	missing  map[string]bool // paths that should be among them
	scratch  string          // a folder of this session alone: spilled data, results on their way out
	tmp      *Scratch        // the same
	mend     func(context.Context) (bool, error)
}

// Open makes a session over the datasets, with all views. A table that has no
// file at all is empty, with its columns. Sessions that are added later are
// seen by later queries, unless Options.Sessions names those to read: that
// makes a query as quick among a thousand sessions as it is alone.
func Open(ctx context.Context, o Options) (*DB, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if !Available {
		return nil, ErrUnavailable
	}
	db, err := openOnce(ctx, o)
	if err == nil || o.Mend == nil || ctx.Err() != nil {
		return db, err
	}
	again, mendErr := o.Mend(ctx)
	switch {
	case mendErr != nil:
		return nil, mendErr
	case again:
		return openOnce(ctx, o)
	}
	return nil, err
}

func openOnce(ctx context.Context, o Options) (*DB, error) {
	tmp, err := NewScratch()
	if err != nil {
		return nil, err
	}
	db := &DB{sessions: distinct(o.Sessions), tmp: tmp, scratch: tmp.Dir}
	if err := db.open(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("SQL session not opened: %w", err), db.Close())
	}
	db.mend = o.Mend
	return db, nil
}

// distinct leaves out what was named before: a file that is listed twice would
// be read twice.
func distinct(ids []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

func (db *DB) open(ctx context.Context, o Options) error {
	var err error
	if db.roots, err = sqlRoots(o.Roots, db.scratch); err != nil {
		return err
	}
	db.options = o
	return db.begin(ctx)
}

// begin makes the session over the roots, with no relation yet.
func (db *DB) begin(ctx context.Context) error {
	var err error
	if db.conn, err = connect(ctx); err != nil {
		return err
	}
	db.made = map[string]bool{}
	if err := db.configure(ctx, db.options); err != nil {
		return err
	}
	if err := db.keepingUp(ctx, func() error { return db.load(ctx) }); err != nil {
		return err
	}
	return db.lock(ctx)
}

// restart begins anew: DuckDB remembers the footer of each file that it has read,
// and of one that was made anew under its name that is another's.
func (db *DB) restart(ctx context.Context) error {
	err := db.conn.close()
	db.conn = nil
	return errors.Join(err, db.begin(ctx))
}

// Newer is the schema version of the newest files where that is newer than this
// program's: their columns that it does not know are in no table. Else it is 0.
func (db *DB) Newer() int {
	if db.newer > analyze.SchemaVersion {
		return db.newer
	}
	return 0
}

// Missing is how many files are not there that the datasets' manifests name: their
// rows are in no table.
func (db *DB) Missing() int { return len(db.missing) }

// Close ends the session and removes its temporary files.
func (db *DB) Close() error {
	var err error
	if db.conn != nil {
		err = db.conn.close()
		db.conn = nil
	}
	return errors.Join(err, db.tmp.Close())
}

// Leave removes the session's temporary files, for a program that ends now and
// asks no more: to give back memory that goes with the process takes DuckDB a
// tenth of a second after a statement over millions of rows.
func (db *DB) Leave() error { return db.tmp.Close() }

// sqlRoots gives the roots as absolute paths. DuckDB reads *, ?, [ and \ in a
// path as a pattern and key=value as a partition, with no way to escape them:
// a root whose own path has one is reached through a link in scratch.
func sqlRoots(roots []string, scratch string) ([]string, error) {
	out := make([]string, len(roots))
	for i, root := range roots {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, fmt.Errorf("dataset folder %s not found: %w", root, err)
		}
		if hasPattern(abs) {
			link := filepath.Join(scratch, fmt.Sprintf("root%d", i))
			if err := os.Symlink(abs, link); err != nil {
				return nil, fmt.Errorf("dataset folder %s not readable by SQL: %w; move it to a path without * ? [ ] = \\", root, err)
			}
			abs = link
		}
		out[i] = filepath.ToSlash(abs)
	}
	return out, nil
}
