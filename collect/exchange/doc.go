// Package exchange reads and writes the file formats of other tools: what they
// measured stands beside what we did, and a script that reads theirs reads ours.
//
// # Reading
//
// [Read] makes records of a file, as collect would have recorded them, so that
// store, figures, views and plots need not know. read.go has the way of a file
// through it, sink.go what a reader calls, formats.go the table of [Formats],
// loose.go access to JSON whose fields tools rename, companions.go what a file is
// that is none of them. A format is a file and a line in the table:
//
//   - exoread.go: exo-bench's results
//   - llamabench.go: llama-bench's tests; llamabench_text.go finds them in its
//     five formats
//   - asiai.go, its other modes in asiaimode.go; ollamatext.go
//   - guidellm.go, a request of it in guidellmrow.go; aiperf.go
//   - vllm.go and sglang.go name what differs between the runs of the two;
//     serving.go reads them, servingrow.go a request, documents.go finds the runs
//     of a file
//
// DatasetSession makes records of a session of tokwatt's own dataset:
// datasettables.go the small tables, datasetrequest.go requests and chunks,
// datasetpower.go readings and quiet windows; datasetolder.go, with the power
// and the imported requests in files of their own, what older tables tell.
//
// Facts become facts, and our formulas compute the figures; a figure that the
// file alone can give is collect.Stated, and so marked in the end. Nothing is
// made up: no time where the file has none, no chunk that it does not list.
//
// A session is known again by the hash of its own part of the file. Sessions of
// a file that another run was appended to are known again only where the format
// tells runs apart; of llama-bench the whole file is one, so a file that grew is
// a new session.
//
// # Writing
//
//   - [ExoResults] is the results file of exo-bench: exo.go writes the document,
//     exorun.go an entry of its runs, exonodes.go its system_metrics,
//     exonumber.go numbers as Python prints them.
//   - [Benchstat] is Go's benchmark format.
//   - [RequestRows] are rows for CSV and JSON lines, as the view runs has them.
//
// The last two read a session batch by batch, with the energy that is known
// only from later readings (batches.go).
//
// A foreign format has no place for a gap: what can't be read is an error, and
// the file is not to be kept. What is not known is null in a place where the
// format always has a value, and left out where the format may leave it out;
// it is never 0.
package exchange
