package collect

import "time"

// Origin says where the figures of a session come from that tokwatt did not
// measure: a file that another tool wrote.
type Origin struct {
	Format      string // as import's --format takes it: "llama-bench"
	Tool        string // who measured: "llama-bench", "exo-bench"
	ToolVersion string // empty where the file does not say
	File        string // base name
	Hash        string // the first 16 hexadecimal digits of the SHA-256 of the session's part of the file
	ImportedAt  time.Time
	// Extra is what the file says of the run as a whole and has no column, as
	// JSON: the tool's own averages among it.
	Extra string
}

// Stated marks a request of an imported session and holds what its file says
// of it that a measured request never lacks or never has. Of other requests it
// is nil.
//
// Facts are what figures are computed of: a request has them here where the
// file does not have the arrivals themselves. Figures are the other tool's own,
// by its own rule: a reader states one only where the file lacks the facts that
// our rule needs, or where the two rules differ and the column is the tool's.
type Stated struct {
	// Facts.
	FirstOutputNS *int64 // first output, from the request's start
	LastOutputNS  *int64 // last output, from the request's start
	Sent          bool   // StartNS is the file's own stamp, not a place in a row

	// Figures.
	TTFTMS               *float64
	TotalDurationMS      *float64
	GenerationDurationMS *float64
	PromptTPS            *float64 // tokens/s
	GenerationTPS        *float64 // tokens/s
	TokPerSec            *float64 // tokens/s
	MixedTPS             *float64 // tokens/s of prefill and generation together
	Rule                 string   // the formula behind the rates, in short: "n / t"
	SD                   *float64 // sample standard deviation of the rate over N runs
	N                    *int64   // how many runs the rate is the mean of; nil: not known, or one
}
