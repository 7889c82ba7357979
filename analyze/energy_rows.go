package analyze

import (
	"slices"

	"tokwatt/collect"
	"tokwatt/power"
)

// EnergyRow is a row of table energy: what a window used by one sensor's word,
// or by the sum over a target's nodes.
type EnergyRow struct {
	SessionID  string
	TargetID   int64
	BatchID    *int64
	RequestID  *int64
	WindowKind WindowKind
	Segment    int64
	StartNS    int64
	EndNS      int64
	Node       string // or power.AllNodes
	Source     string
	Scope      string
	Rule       string

	EnergyJ         *float64
	LowJ            *float64
	HighJ           *float64
	PartialJ        *float64 // of the nodes that have one, where not all do
	NetJ            *float64 // above idle power
	MeanW           *float64
	PeakW           *float64
	Samples         int64
	MaxGapS         *float64
	RejectedSamples int64
	Coverage        string
	NullReason      string
	Indicative      bool
}

// WindowKind says what a window of table energy is of.
type WindowKind string

// The kinds of windows.
const (
	WindowTarget     WindowKind = "target"  // first prompt to last run, warm-ups included
	WindowBatch      WindowKind = "batch"   // release to the last response
	WindowRequest    WindowKind = "request" // of a single stream
	WindowPrefill    WindowKind = "prefill" // of a single stream, until the first output
	WindowGeneration WindowKind = "generation"
	WindowIdle       WindowKind = "idle" // before the first request
)

// of is the row with the figures of a window.
func (r EnergyRow) of(w power.Window) EnergyRow {
	r.StartNS, r.EndNS = w.From, w.To
	r.Node, r.Source, r.Scope, r.Rule = w.Node, w.Source, string(w.Scope), string(w.Rule)
	r.EnergyJ, r.LowJ, r.HighJ = figure(w.EnergyJ), figure(w.LowJ), figure(w.HighJ)
	r.MeanW, r.PeakW, r.MaxGapS = figure(w.MeanW), figure(w.PeakW), figure(w.MaxGapS)
	r.Samples, r.RejectedSamples = w.Samples, w.Rejected
	r.NullReason, r.Indicative = string(w.Reason), w.Indicative
	return r
}

// sum is the row of a sum over nodes.
func (r EnergyRow) sum(t power.Total) EnergyRow {
	r = r.of(t.Window)
	r.Coverage, r.PartialJ = t.Coverage, figure(t.PartialJ)
	return r
}

// idlePower is what a target drew before its first request, by channel.
type idlePower map[idleKey]*float64

type idleKey struct{ node, source, scope string }

// of is the idle power that a row is held against. A sum has its like only
// where it is of the same scope.
func (p idlePower) of(r *EnergyRow) *float64 {
	if r.Rule == string(power.RuleExoServer) {
		return nil // another clock and other samples
	}
	return p[idleKey{r.Node, r.Source, r.Scope}]
}

// net fills in what rows took above idle power.
func (p idlePower) net(rows []EnergyRow) {
	for i := range rows {
		r := &rows[i]
		w := power.Window{From: r.StartNS, To: r.EndNS, EnergyJ: r.EnergyJ}
		r.NetJ = finite(w.NetJ(p.of(r)))
	}
}

// channels are the rows of a window for each channel of the target's nodes.
func (r EnergyRow) channels(windows []power.Window, nodes []string) (rows []EnergyRow) {
	for _, w := range windows {
		if slices.Contains(nodes, w.Node) {
			rows = append(rows, r.of(w))
		}
	}
	return rows
}

// firstOutput is when the first output of a request came, on the segment's
// clock.
func firstOutput(r *collect.Request) (at int64, ok bool) {
	for i := range r.Chunks {
		if c := &r.Chunks[i]; c.Kind.Output() {
			return r.StartNS + c.T, true
		}
	}
	return 0, false
}

// totalNet is what a sum took above idle power.
func (p idlePower) totalNet(t power.Total) *float64 {
	return t.NetJ(p[idleKey{t.Node, t.Source, string(t.Scope)}])
}
