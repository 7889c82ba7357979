//go:build cgo

package duck

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

var emit = flag.String("emit", "", "write random runs and their row of the view asiai to this file, for scripts/check_stats.py")

// emittedAsiai is a target's runs, by prompt kind, and what SQL makes of them.
// A run of 0 is not measurable; a nil one has no tok_per_sec.
type emittedAsiai struct {
	Groups                                   [][]*float64
	Median, Mean, StdDev, SampleSD, CV, TTFT *float64
	Runs, Rates, Kinds                       int64
	Stability                                string
}

func TestEmitAsiai(t *testing.T) {
	if *emit == "" {
		t.Skip("for scripts/check_stats.py: give -emit")
	}
	rnd := rand.New(rand.NewPCG(13, 14))
	f := newFixture(t)
	out := map[string]*emittedAsiai{}
	for i := range 300 {
		session := fmt.Sprintf("s%03d", i)
		e := &emittedAsiai{Groups: [][]*float64{}}
		kinds := make([][]string, 1+rnd.IntN(5))
		for k := range kinds {
			e.Groups = append(e.Groups, []*float64{})
			for range rnd.IntN(7) {
				v, text := drawRun(rnd, i)
				e.Groups[k] = append(e.Groups[k], v)
				kinds[k] = append(kinds[k], text)
			}
		}
		kinds[0], e.Groups[0] = append(kinds[0], "null"), append(e.Groups[0], nil) // a target without rows has none here
		f.kindsSession(session, kinds...)
		out[session] = e
	}
	rows, err := f.open(Options{}).Asiai(t.Context(), nil)
	if err != nil || len(rows) != len(out) {
		t.Fatalf("%d rows, want %d; error %v", len(rows), len(out), err)
	}
	for _, r := range rows {
		e := out[r.SessionID]
		e.Median, e.Mean, e.StdDev, e.SampleSD, e.CV, e.TTFT = r.TokPerSec, r.TokPerSecMean, r.StdDevTokS, r.PooledSDSample, r.CV, r.TTFTMS
		e.Runs, e.Rates, e.Kinds, e.Stability = r.NRuns, r.NRates, r.NKinds, r.Stability
	}
	text, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(*emit, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// drawRun draws a rate near 50, or on a large offset, or one that a tie is
// likely with; now and then 0 or none.
func drawRun(rnd *rand.Rand, i int) (*float64, string) {
	v := []float64{50, 1.2e6, 0}[i%3] + math.Abs(rnd.NormFloat64())*4
	switch {
	case i%5 == 0:
		v = float64(20 + rnd.IntN(4))
	case rnd.IntN(12) == 0:
		v = 0
	case rnd.IntN(12) == 0:
		return nil, "null"
	}
	return &v, strconv.FormatFloat(v, 'e', -1, 64)
}
