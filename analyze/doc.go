// Package analyze turns what was recorded into figures: rows, files and
// statistics. It takes a stream of records and opens no store; what is asked
// of many sessions at once is asked in SQL, by package analyze/duck, over the
// files that this package writes.
//
// The way from a record to an answer, and where each step lives:
//
//  1. [Derive] makes the rows of a batch: the one place of every formula
//     (derive.go names the file of each rule; rows.go has the row types).
//     What sensors read goes with it: a [Deriver] takes a session's records one
//     by one, has package analyze/meter find the energy of each window
//     (deriver_energy.go), and hands out rows when the readings behind them
//     have come. It has the rows of table energy too (energy_rows.go).
//  2. [Export] writes the rows of a session as Parquet (export.go, chunks.go,
//     parquet.go), all its files or none (files.go), into the partition of its
//     host and day (partition.go), with a [Manifest] that tells whether they
//     are still what was written (manifest.go). What changes in a dataset does
//     so at one instant (journal.go), and a list of its files is of one instant
//     (snapshot.go). [Compact] merges files of one day (compact.go, merge.go,
//     columnread.go), [Bundle] copies the small tables into one file for quick
//     reading (bundle.go), [SessionRows] reads a session back, and [CheckDataset] a
//     whole dataset through (check.go).
//  3. The columns are declared once, in tables.go, tables_runs.go and
//     tables_energy.go, with what schema.go offers; schema, writer and
//     documentation follow from that, and so do the tables' declarations for
//     other engines (ddl.go). [Tables] shows them, [Metrics] says what the
//     figures among them mean.
//  4. The statistics that SQL can't do, or that the views are held against, are
//     pure functions: [Sample], [Sample.MedianInterval], [PooledSpread],
//     [MannWhitney]. Each is nil where there are too few numbers for it.
//     [Compare] holds two selections of rows, which [Conditions] choose, against
//     each other (compare_match.go says which belong together, compare_pair.go
//     and compare_ratio.go what they show, compare_warn.go what to mind,
//     compare_gate.go when a worse B fails a build).
//  5. [Summary] and [Asiai] are rows of the views summary and asiai, for
//     whoever draws or prints them.
//
// Two rules hold throughout. NULL is nil, never 0: what was not measured does
// not enter an average as a nought. And no figure is NaN or infinite: such a
// value is refused where it arises.
package analyze
