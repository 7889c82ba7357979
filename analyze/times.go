package analyze

import (
	"math"
	"slices"

	"tokwatt/collect"
)

// ms is nanoseconds in milliseconds.
func ms(ns float64) *float64 { return finite(ptr(ns / 1e6)) }

// times fills the columns of time.
//
// Our own stamps count from the request's start. They are NULL where the
// answer was not streamed (one arrival tells nothing of a first token; the
// total is then the response) and where the output stayed hidden.
//
// For Ollama ttft_ms, total_duration_ms and generation_duration_ms are the
// server's durations, NULL where it leaves them out; our own TTFT stands
// beside them in ttft_client_ms.
//
// total_duration_ms ends with the last output: a count that comes late is not
// generation.
func (d *derivation) times() {
	row, r := d.row, d.r
	row.LoadDurationMS = msOf(r.Report.LoadNS)
	if d.timed() {
		row.ElapsedS = finite(ptr(since(r.EndNS, d.b.StartNS) / 1e9))
		if d.complete() {
			row.ResponseMS = ms(since(r.EndNS, r.StartNS))
		}
	}
	if r.Streamed {
		d.streamTimes()
	} else if d.complete() && (d.shown() || d.imported() && row.TokensGenerated != nil) {
		row.TotalDurationMS = row.ResponseMS
	}
	row.TTFTMS = row.TTFTClientMS
	if d.c.ollama() {
		row.TTFTMS = msOf(r.Report.PromptEvalNS)
		row.TotalDurationMS = msOf(r.Report.TotalNS)
		row.GenerationDurationMS = msOf(r.Report.EvalNS)
		return
	}
	d.stateTimes()
	if row.GenerationDurationMS == nil && row.TTFTMS != nil && row.TotalDurationMS != nil {
		row.GenerationDurationMS = finite(ptr(max(0, *row.TotalDurationMS-*row.TTFTMS)))
	}
}

// msOf is a stated duration in milliseconds.
func msOf(ns *float64) *float64 {
	if ns = figure(ns); ns == nil {
		return nil
	}
	return ms(*ns)
}

func (d *derivation) streamTimes() {
	row, o := d.row, &d.out
	if !d.imported() { // other tools don't tell what a chunk was
		if len(d.r.Chunks) > 0 && (o.n > 0 || !d.complete()) {
			row.FirstChunkMS = ms(float64(d.r.Chunks[0].T))
		}
		if o.firstText != nil {
			row.FirstTextMS = ms(float64(*o.firstText))
		}
	}
	if o.begun {
		row.TTFTClientMS = ms(float64(o.first))
	}
	if o.ended {
		row.TotalDurationMS = ms(float64(o.last))
	}
	if gaps := outputGaps(d.r.Chunks, o.n); len(gaps) > 0 {
		slices.Sort(gaps)
		if s := (Sample{gaps}); measured(gaps) {
			row.ITLP50MS = s.Median()
			row.ITLP99MS = s.Percentile(99)
		}
		row.ITLMaxMS = &gaps[len(gaps)-1]
	}
}

// maxShared is the share of gaps of nought up to which single gaps count as
// measured. Each one makes a neighbour longer by as much as it lost, so that a
// few on both sides of the median leave it where it was, and many do not.
const maxShared = 0.25

// measured reports whether gaps, ascending, are those between tokens: arrivals
// that were read together bear one time, and the gaps between them are lost.
// The mean gap, which generation_tps_client has, is not touched by that.
func measured(gaps []float64) bool {
	shared, _ := slices.BinarySearch(gaps, math.SmallestNonzeroFloat64)
	return float64(shared) <= maxShared*float64(len(gaps))
}

// outputGaps is the time between neighbouring output arrivals in ms, for n of
// them. Where chunks carry several tokens these are gaps between chunks.
func outputGaps(chunks []collect.Chunk, n int64) []float64 {
	gaps := make([]float64, 0, n)
	var prev *int64
	for i := range chunks {
		c := &chunks[i]
		if !c.Kind.Output() {
			continue
		}
		if prev != nil {
			gaps = append(gaps, since(c.T, *prev)/1e6)
		}
		prev = &c.T
	}
	return gaps
}

// spanS is the time from the first output to the last in seconds, nil where
// there is none.
func (d *derivation) spanS() *float64 {
	if !d.r.Streamed || !d.out.begun || !d.out.ended {
		return nil
	}
	return ptr(since(d.out.last, d.out.first) / 1e9)
}
