// Package collect runs a bench and hands out what it saw as a stream of
// records. It owns the domain and the protocol; it knows no engine, no
// database and no formula.
//
// The way of a measurement, and where each step lives:
//
//  1. A [Spec] says what to measure (spec.go); [Spec.Plan] makes the matrix.
//  2. A [Driver] yields a [Target] per model (driver.go); its subpackages
//     (openai, inproc) are the drivers.
//  3. A [Prompter] (package collect/prompt) makes prompts of an exact length.
//  4. The [Runner] opens N streams, releases them by one barrier, and records
//     each (runner.go, batch.go).
//  5. A [LineReader] stamps every arrival on the segment's one [Clock]
//     (clock.go, lines.go), over a connection with the kernel's own stamp
//     where there is one (stamp.go); a [Stream] turns lines into an [Arrival].
//  6. Records come out in order: [Session], [Segment], then for each target
//     [TargetInfo], its [Case]s and [Batch]es, at last an [End] (types.go).
//
// A record holds raw facts only. Rates, flags that follow from other columns
// and all statistics are derived by package analyze, so that a corrected
// formula applies to runs of years ago.
//
// Absent values are nil pointers and empty strings; zero is a measured zero.
package collect
