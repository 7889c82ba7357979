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

// request adds one request. Its ITL is taken from the arrivals: where a busy
// machine has several of them read together, the span may be too short for a
// rate, and that error counts as well.
func (t *tally) request(q *collect.Request, row *analyze.RequestRow, sent map[int][]time.Duration) error {
	word, _, _ := strings.Cut(q.Preview, " ")
	n, err := strconv.Atoi(word)
	did, known := sent[n]
	said := arrivals(q.Chunks)
	if err != nil || !known || len(said) != tokens || row.TTFTClientMS == nil {
		return fmt.Errorf("the calibration's own server answered %q in %d pieces, which is not in its log", q.Preview, len(said))
	}
	t.ttft = append(t.ttft, *row.TTFTClientMS-ms(did[0]))
	t.itl = append(t.itl, (ms(said[tokens-1]-said[0])-ms(did[tokens-1]-did[0]))/(tokens-1))
	for i := range tokens {
		if i > 0 {
			t.gaps = append(t.gaps, ms(said[i]-said[i-1]))
			t.trueGaps = append(t.trueGaps, ms(did[i]-did[i-1]))
		}
		t.late = append(t.late, ms(did[i]-prefill-time.Duration(i)*step))
	}
	if q.StampSource != collect.StampKernel {
		t.stamps = q.StampSource
	}
	return nil
}

// arrivals are those of output, from the request's start.
func arrivals(chunks []collect.Chunk) []time.Duration {
	var out []time.Duration
	for _, c := range chunks {
		if c.Kind.Output() {
			out = append(out, time.Duration(c.T))
		}
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
