// Package collect runs a bench and hands out what it saw as a stream of
// records. It owns the domain and the protocol; it knows no engine, no
// database and no formula.
//
// The way of a measurement, and where each step lives:
//
//  1. A [Spec] says what to measure (spec.go); [Spec.Shapes] is the matrix.
//     Profiles are ready-made ones, less the matrix (profile.go).
//  2. A [Driver] yields a [Target] per model (driver.go); its subpackages
//     are the drivers. A [Job] is a spec with its driver.
//  3. The [Runner] plans the batches of all jobs (runner.go, plan.go), less
//     those that the [Past] of a resumed session has (resume.go); [Left] says
//     which these are (rest.go).
//  4. A [Prompter] (package collect/prompt) makes prompts of an exact length,
//     asking the engine with patience (probe.go), and the runner each target's
//     cases of them (target.go, point.go).
//  5. For each batch (measure.go) it opens N streams, releases them by one
//     barrier, and records each (batch.go, recorder.go). While nothing is
//     timed, texts are recounted (recount.go), the host is asked for its heat
//     (heat.go), and what sensors read meanwhile is handed out (sensors.go);
//     they are read beside all that (sampler.go) and kept packed
//     (readings.go). Before a target's first batch it is quiet (idle.go).
//  6. A [LineReader] stamps every arrival on the segment's one [Clock]
//     (clock.go, lines.go), over a connection with the kernel's own stamp
//     where there is one (stamp.go); a [Stream] turns lines into an [Arrival].
//  7. Records come out in order: [Session], [Segment], then for each target
//     [TargetInfo], its [Case]s, [Sensors], an [Idle], [Batch]es and
//     [Samples], at last an [End] (types.go). A [Lost] stands for what has none
//     of these.
//
// A record holds raw facts only. Rates, flags that follow from other columns
// and all statistics are derived by package analyze, so that a corrected
// formula applies to runs of years ago.
//
// Absent values are nil pointers and empty strings; zero is a measured zero.
package collect
