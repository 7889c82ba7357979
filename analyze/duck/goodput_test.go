//go:build cgo

package duck

import (
	"math"
	"testing"
	"time"

	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// waited is what the user of one request waited, in ms, from its raw stamps.
type waited struct {
	known            bool // a complete answer that was seen
	ttft, tpot, resp float64
	gap              float64 // the longest; answers here have under 100
}

// waitedFor reads a request without any of analyze's code.
func waitedFor(r *collect.Request) (w waited) {
	var output []float64
	for _, c := range r.Chunks {
		if c.Kind == collect.KindContent {
			output = append(output, float64(c.T)/1e6)
		}
	}
	if r.Failure != nil || len(output) == 0 {
		return w
	}
	w = waited{known: true, ttft: math.Inf(1), tpot: math.Inf(1), gap: math.Inf(1), resp: float64(r.EndNS-r.StartNS) / 1e6}
	if !r.Streamed {
		return w
	}
	w.ttft, w.tpot, w.gap = output[0], 0, 0
	for i := 1; i < len(output); i++ {
		w.gap = max(w.gap, output[i]-output[i-1])
	}
	span := output[len(output)-1] - output[0]
	tokens := r.Report.CompletionTokens
	if tokens == nil && r.Recount != nil {
		tokens = &r.Recount.Tokens
	}
	if tokens != nil {
		w.tpot = span / float64(*tokens-1)
		return w
	}
	w.tpot = w.gap
	return w
}

// TestGoodput holds counts and rates of the view to those of the raw stamps,
// at limits that none, some and all keep.
func TestGoodput(t *testing.T) {
	o := analyzetest.Options{Seed: 11}
	root := t.TempDir()
	export(t, root, o)
	db := open(t, Options{Roots: []string{root}, Threads: 1})
	type group struct {
		all, good, failed int64
		wall              float64
	}
	for _, l := range []Limits{
		{TTFT: 300 * time.Millisecond}, {TPOT: 40 * time.Millisecond}, {Total: time.Second},
		{TTFT: 500 * time.Millisecond, TPOT: 25 * time.Millisecond}, {ITL: 40 * time.Millisecond}, {TTFT: 1}, {Total: time.Hour},
	} {
		want, cases := map[int64]*group{}, map[int64]*collect.Case{}
		order := []int64{}
		for rec, err := range analyzetest.Records(o) {
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := rec.(*collect.Case); ok {
				cases[c.CaseID], want[c.CaseID] = c, &group{}
				order = append(order, c.CaseID)
			}
			b, ok := rec.(*collect.Batch)
			if !ok || b.Warmup {
				continue
			}
			g, wall := want[b.CaseID], 0.0
			for i := range b.Requests {
				r := &b.Requests[i]
				w := waitedFor(r)
				wall = max(wall, float64(r.EndNS-b.StartNS)/1e9)
				within := func(x float64, limit time.Duration) bool { return limit == 0 || x <= float64(limit)/1e6 }
				g.all++
				if r.Failure != nil {
					g.failed++
				}
				if w.known && within(w.ttft, l.TTFT) && within(w.tpot, l.TPOT) && within(w.gap, l.ITL) && within(w.resp, l.Total) {
					g.good++
				}
			}
			g.wall += wall
		}
		sql, err := GoodputSQL(l, []string{o.ID()})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := db.Query(t.Context(), "select requests, failed, good, share, good_per_s, requests_per_s from ("+sql+")")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for row, err := range rows.All() {
			if err != nil || n >= len(order) {
				t.Fatalf("row %d, error %v", n, err)
			}
			w := want[order[n]]
			n++
			if row[0] != w.all || row[1] != w.failed || row[2] != w.good {
				t.Errorf("%+v, case %d: requests, failed, good are %v, want %+v", l, n, row[:3], *w)
			}
			for i, want := range []float64{float64(w.good) / float64(w.all), float64(w.good) / w.wall, float64(w.all) / w.wall} {
				if got, ok := row[3+i].(float64); !ok || math.Abs(got-want) > 1e-9*math.Max(1, want) {
					t.Errorf("%+v, case %d: figure %d is %v, want %v", l, n, i, row[3+i], want)
				}
			}
		}
		rows.Close()
		if n != len(order) {
			t.Errorf("%+v: %d rows, want %d", l, n, len(order))
		}
	}
}

func TestLimits(t *testing.T) {
	for _, l := range []Limits{{}, {TTFT: -1}, {ITL: -time.Second}} {
		if sql, err := GoodputSQL(l, nil); err == nil {
			t.Errorf("%+v makes %s", l, sql)
		}
	}
	l := Limits{TTFT: 500 * time.Millisecond, ITL: 1500 * time.Microsecond}
	if got, want := l.condition(), "ttft_client_ms <= 500 and itl_ms <= 1.5"; got != want {
		t.Errorf("%v is %s, want %s", l, got, want)
	}
}
