// Package duck asks SQL of exported sessions: DuckDB over the Parquet files
// that package analyze writes, with the views that tokwatt's own tables and
// plots are made from. It reads nothing but Parquet, so one machine's store
// and a fleet's dataset are asked the same way.
//
// Open makes a session in three steps:
//
//  1. an in-memory database (driver_cgo.go, the only file that knows the
//     driver; a build without cgo has driver_nocgo.go and ErrUnavailable);
//  2. the list of the files that analyze.DatasetFiles finds (loader.go). A
//     statement sees the dataset at one instant: where files come or go the
//     list is made anew before the next one;
//  3. the lock: no file outside the roots, no network, no extension, no
//     setting can be changed afterwards (lock.go).
//
// Tables and views are made when the first statement names them (relations.go):
// a loader a table, with the columns of analyze's schema whichever files are
// there, and the views, plain text in views/*.sql, in the subset of SQL that
// Spark reads too (views.go). How they build on each other:
//
//	sessions, targets, cases, requests → runs → goodput, asiai
//	runs → stat_rows (what enters statistics) → row_figures (over requests)
//	stat_rows, batches → batch_figures → row_figures (over batches)
//	batch_figures → batch_medians → batch_intervals (with median_interval)
//	row_figures, batch_intervals → summary_long
//	summary_cases (of runs, stat_rows), row_figures, batch_intervals → summary
//	sessions, targets, cases, batches → batch_runs;  energy → phases
//
// Query runs a user's statement. Before DuckDB prepares it, its parse tree is
// checked (gate.go): one statement, a SELECT or an EXPLAIN of one, and no
// table function but those known to only read. The gate and the lock are two
// fences: the lock alone would let COPY write below the roots, the gate alone
// would rest on a list. Summaries and Asiai read what the views summary and
// asiai have into analyze's types, Summaries some sessions at a time.
//
// A statement that fails on what may be a damaged file asks Options.Mend for a
// new one and runs again (query.go). Temporary files are in a folder that the
// next session removes should this one be killed (scratch.go).
//
// A result is held in DuckDB's memory until its Rows are closed; reading it
// row by row costs no second copy. A DB has one connection and serves one
// goroutine at a time. Sums and means of doubles differ in the last digits
// from run to run unless Options.Threads is 1.
package duck
