package analyze

import (
	"math"

	"tokwatt/collect"
)

// Context is what a batch belongs to. Target and Case must not be nil; of the
// session only the id is used.
type Context struct {
	SessionID string
	Target    *collect.TargetInfo
	Case      *collect.Case
}

// ollama reports whether the figures follow the rules for Ollama, whose server
// states its own durations.
func (c *Context) ollama() bool { return c.Target.Driver == "ollama" }

// Derive turns the raw facts of a batch into its row and those of its
// requests: every formula is behind this one pure function. Where a rule is:
//
//   - what the model made and who counted it: counts.go
//   - times and gaps between arrivals: times.go
//   - rates: rates.go
//   - figures that can't be true: plausible.go
//   - status, and which statistics a row may enter: status.go
//   - the batch: batch.go, its energy: energy.go
//   - what an imported file states: stated.go
//
// A nil energy means that none was measured; exo's own figure then stands in
// where it gives one (energy_exo.go). No figure of a row is ever NaN or
// infinite, whatever the batch holds.
func Derive(c Context, b *collect.Batch, e *Energy) (BatchRow, []RequestRow) {
	if e == nil {
		e = ExoEnergy(c, b)
	}
	marks := batchFlags(&c, b, e)
	rows := make([]RequestRow, len(b.Requests))
	ds := make([]derivation, len(b.Requests))
	for i := range b.Requests {
		ds[i] = derivation{c: &c, b: b, r: &b.Requests[i], row: &rows[i], flags: marks}
		ds[i].run()
	}
	batch := deriveBatch(&c, b, ds, marks, e)
	for i := range rows {
		rows[i].ofBatch(&batch)
	}
	return batch, rows
}

// ofBatch repeats what [OfBatchColumns] lists.
func (r *RequestRow) ofBatch(b *BatchRow) {
	r.CaseID, r.RepeatIndex, r.Warmup = b.CaseID, b.RepeatIndex, b.Warmup
	r.ClientCPUPct, r.SpeedLimitPct, r.Throttled = b.ClientCPUPct, b.SpeedLimitPct, b.Throttled
	r.BatchFlags = b.Flags
}

// derivation is one request on its way to its row.
type derivation struct {
	c     *Context
	b     *collect.Batch
	r     *collect.Request
	row   *RequestRow
	out   outputs // the arrivals that brought output
	bad   badDurations
	flags flagSet
}

// run goes through the rules in the order in which they build on each other.
func (d *derivation) run() {
	d.facts()
	d.out = findOutputs(d.r)
	d.counts()
	d.cache()
	d.times()
	d.plausibleDurations()
	d.rates()
	d.plausibleRates()
	d.lengths()
	d.model()
	d.status()
	d.selections()
	d.row.Flags = d.flags.list()
}

// facts copies what needs no rule.
func (d *derivation) facts() {
	r, row := d.r, d.row
	row.SessionID = d.c.SessionID
	row.BatchID = d.b.BatchID
	row.RequestID = r.RequestID
	row.Segment = d.b.Segment
	row.StartNS = r.StartNS
	row.EndNS = r.EndNS
	row.ConcurrentIndex = r.ConcurrentIndex
	row.HTTPStatus = r.HTTPStatus
	row.ServedModel = r.Report.Model
	row.PPTokens = r.PPTokens
	row.FinishReason = r.Report.FinishReason
	row.OutputTextPreview = r.Preview
	row.ServerJSON = r.Report.JSON
	row.StampSource = string(r.StampSource)
	row.Recorded = recorded(r)
	if f := r.Failure; f != nil {
		row.ErrorKind = string(f.Kind)
		row.Error = f.Message
		row.RetryAfterS = figure(f.RetryAfter)
	}
	d.flags.set(flagUncleanEnd, r.UncleanEnd)
	d.flags.set(flagNotStreamed, d.c.Case.Streaming && !r.Streamed && r.Failure == nil)
	d.flags.set(flagModelUnlisted, d.c.Target.Unlisted)
}

// complete reports whether the answer came to its end.
func (d *derivation) complete() bool { return d.r.Failure == nil }

// told is the source of what the report says.
func (d *derivation) told() Source {
	switch {
	case d.r.Report.Source == collect.ReportEngine:
		return SourceEngine
	case d.imported() && d.r.Report.Source == "":
		return "" // the file does not say whose word it is
	}
	return SourceServer
}

// finite is x, or nil where it is not a number that can be stored.
func finite(x *float64) *float64 {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return nil
	}
	return x
}

// figure is a figure that somebody states: nil unless it is finite and not
// negative.
func figure(x *float64) *float64 {
	if x = finite(x); x == nil || *x < 0 {
		return nil
	}
	return x
}

// positive is figure, where 0 is no figure either.
func positive(x *float64) *float64 {
	if x = figure(x); x == nil || *x == 0 {
		return nil
	}
	return x
}

// count is a count that somebody states: nil where it is negative.
func count(n *int64) *int64 {
	if n == nil || *n < 0 {
		return nil
	}
	return n
}

// ratio is a / b, or nil where that is no finite number.
func ratio(a, b float64) *float64 {
	q := a / b
	return finite(&q)
}

// since is a − b for two stamps in nanoseconds, in ns. As floats they can't
// overflow, and are exact up to 104 days.
func since(a, b int64) float64 { return float64(a) - float64(b) }

func ptr[T any](v T) *T { return &v }
