package duck

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"tokwatt/analyze"
)

// configure sets what must stand before the first file is read.
func (db *DB) configure(ctx context.Context, o Options) error {
	settings := []string{
		"set TimeZone = 'UTC'",
		"set enable_progress_bar = false",
		// A query and the views below it open each file's footer several times.
		"set parquet_metadata_cache = true",
		// Joins run in the order in which they are written. The keys of our tables
		// hang on each other (a session has one host and one date), so estimates
		// come out too small by orders of magnitude, and requests ends up as the
		// side that is held in memory: of 5 M requests runs takes 1.9 GB and four
		// times as long.
		"set disabled_optimizers = 'join_order'",
		"set temp_directory = " + quote(filepath.Join(db.scratch, "spill")),
	}
	if o.MemoryLimit > 0 {
		settings = append(settings, fmt.Sprintf("set memory_limit = '%dB'", o.MemoryLimit))
	}
	if o.Threads > 0 {
		settings = append(settings, fmt.Sprintf("set threads = %d", o.Threads))
	}
	return db.execAll(ctx, settings)
}

// lock shuts the session in. It comes after the views, and nothing after it
// can open it again: enable_external_access can only be turned off, and
// lock_configuration freezes the list of folders.
func (db *DB) lock(ctx context.Context) error {
	folders := make([]string, 0, len(db.roots)+1)
	for _, root := range append(db.roots, db.scratch) {
		folders = append(folders, quote(root))
		linked, err := analyze.LinkedFolders(root)
		if err != nil {
			return err
		}
		for _, to := range linked {
			folders = append(folders, quote(filepath.ToSlash(to)))
		}
	}
	return db.execAll(ctx, []string{
		"set allowed_directories = [" + strings.Join(folders, ", ") + "]",
		"set autoinstall_known_extensions = false",
		"set autoload_known_extensions = false",
		"set allow_community_extensions = false",
		"set allow_persistent_secrets = false",
		"set enable_external_access = false",
		"set lock_configuration = true",
	})
}

func (db *DB) execAll(ctx context.Context, statements []string) error {
	for _, s := range statements {
		if err := db.conn.exec(ctx, s); err != nil {
			return fmt.Errorf("%w, in %q", err, firstLine(s))
		}
	}
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// quote makes a string literal; SQL ends at a NUL, so one is written as what
// gives it.
func quote(s string) string {
	literal := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, "\x00") {
		literal = "(" + strings.ReplaceAll(literal, "\x00", "' || chr(0) || '") + ")"
	}
	return literal
}
