package calibrate

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// tally gathers what the requests of a run said and what was true.
type tally struct {
	ttft, itl      []float64 // errors, ms
	gaps, trueGaps []float64 // ms
	late, spread   []float64 // ms, µs
	cpu            float64   // s
	tokens         int64
	stamps         collect.StampSource
}

// compare holds a run against the server's log: when it sent the tokens of
// each answer.
func (r *run) compare(sent map[int][]time.Duration) (Level, collect.StampSource, error) {
	t := tally{stamps: collect.StampKernel}
	for _, b := range r.batches {
		batch, rows := analyze.Derive(analyze.Context{Target: r.target, Case: r.case_}, b, nil)
		if batch.DispatchSpreadUS != nil {
			t.spread = append(t.spread, *batch.DispatchSpreadUS)
		}
		if pct := b.ClientCPUPct; pct != nil {
			t.cpu += *pct / 100 * float64(runtime.GOMAXPROCS(0)) * float64(b.EndNS-b.StartNS) / 1e9
			t.tokens += tokens * int64(len(b.Requests))
		}
		for i := range b.Requests {
			if err := t.request(&b.Requests[i], &rows[i], sent); err != nil {
				return Level{}, "", err
			}
		}
	}
	return t.level(r.streams), t.stamps, nil
}

// request adds one request.
func (t *tally) request(q *collect.Request, row *analyze.RequestRow, sent map[int][]time.Duration) error {
	word, _, _ := strings.Cut(q.Preview, " ")
	n, err := strconv.Atoi(word)
	true_, known := sent[n]
	if err != nil || !known || len(true_) != tokens || row.TTFTClientMS == nil || row.GenerationTPSClient == nil {
		return fmt.Errorf("the calibration's own server answered with %q, which is not in its log or not of %d tokens", q.Preview, tokens)
	}
	const span = tokens - 1
	t.ttft = append(t.ttft, *row.TTFTClientMS-ms(true_[0]))
	t.itl = append(t.itl, 1000 / *row.GenerationTPSClient - ms(true_[span]-true_[0])/span)
	t.gaps = append(t.gaps, gaps(q.Chunks)...)
	for i, at := range true_ {
		if i > 0 {
			t.trueGaps = append(t.trueGaps, ms(at-true_[i-1]))
		}
		t.late = append(t.late, ms(at-prefill-time.Duration(i)*step))
	}
	if q.StampSource != collect.StampKernel {
		t.stamps = q.StampSource
	}
	return nil
}

// gaps are the intervals between the arrivals of output, in ms.
func gaps(chunks []collect.Chunk) []float64 {
	var out []float64
	last := int64(-1)
	for _, c := range chunks {
		if !c.Kind.Output() {
			continue
		}
		if last >= 0 {
			out = append(out, float64(c.T-last)/1e6)
		}
		last = c.T
	}
	return out
}

func (t *tally) level(streams int64) Level {
	l := Level{
		Streams: streams, Requests: int64(len(t.ttft)),
		TTFTErrP50MS: percentile(t.ttft, 50), TTFTErrP99MS: percentile(t.ttft, 99),
		GapSDMS: sd(t.gaps), GapSDTrueMS: sd(t.trueGaps),
		SpreadUS: percentile(t.spread, 50), LateP99MS: percentile(t.late, 99),
	}
	itl, _ := analyze.NewSample(t.itl)
	l.ITLErrMeanMS = itl.Mean()
	if t.tokens > 0 {
		cpu := 1000 * t.cpu / float64(t.tokens)
		l.CPUS = &cpu
	}
	return l
}

// percentile is nil where there are too few values for it.
func percentile(xs []float64, p float64) *float64 {
	s, _ := analyze.NewSample(xs)
	return s.Percentile(p)
}

func sd(xs []float64) *float64 {
	s, _ := analyze.NewSample(xs)
	return s.SD()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
