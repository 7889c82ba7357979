// Package exchange writes a session in the file formats of other tools, so that
// a script that reads theirs reads ours.
//
//   - [ExoResults] is the results file of exo-bench: exo.go writes the document,
//     exorun.go an entry of its runs, exonodes.go its system_metrics,
//     exonumber.go numbers as Python prints them.
//   - [Benchstat] is Go's benchmark format.
//   - [RequestRows] are rows for CSV and JSON lines, as the view runs has them.
//
// The latter two read a session batch by batch, with the energy that is known
// only from later readings (batches.go).
//
// A foreign format has no place for a gap: what can't be read is an error, and
// the file is not to be kept. What is not known is null in a place where the
// format always has a value, and left out where the format may leave it out;
// it is never 0.
package exchange
