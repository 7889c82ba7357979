package exchange_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// TestLong: memory does not grow with the session.
func TestLong(t *testing.T) {
	r := answer(1, 0, 1e9)
	recs := func(yield func(collect.Record, error) bool) {
		for _, rec := range oneRequest(r)[:3] {
			if !yield(rec, nil) {
				return
			}
		}
		for range 20_000 {
			if !yield(&collect.Batch{CaseID: 1, Requests: []collect.Request{r}}, nil) {
				return
			}
		}
	}
	var live liveHeap
	if err := exchange.ExoResults(&live, recs); err != nil {
		t.Fatal(err)
	}
	if live.bytes < 10<<20 || live.most > live.first+4<<20 {
		t.Errorf("%d bytes written, %d of the heap in use at first, %d at most", live.bytes, live.first, live.most)
	}
}

func FuzzExoResults(f *testing.F) {
	f.Add(`{"generation_stats":{"a":1},"power_usage":null}`, `{"nodeIdentities":{"x":{"friendlyName":"n"}}}`, "n", 1.5, 2.5)
	f.Add(`{`, `null`, "", math.Inf(1), 0.0)
	f.Add(`[]`, ` {} `, "\xff", 1e308, 1e308)
	f.Fuzz(func(t *testing.T, report, cluster, node string, a, b float64) {
		r := answer(1, 0, 1e9)
		r.Report.JSON, r.Preview, r.Report.PromptTPS = report, node, &a
		recs := oneRequest(r)
		recs[1].(*collect.TargetInfo).Cluster = cluster
		recs = append(recs, &collect.Samples{Samples: []collect.Sample{sample(node, "power", "W", a), sample(node, "power", "W", b)}})
		var out bytes.Buffer
		err := exchange.ExoResults(&out, values(recs))
		if err == nil && !json.Valid(out.Bytes()) {
			t.Errorf("no JSON: %s", out.Bytes())
		}
		if err != nil && json.Valid([]byte(cluster)) {
			t.Error(err)
		}
	})
}

func BenchmarkExoResults(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	r := answer(1, 0, 1e9)
	r.Report.JSON = `{"generation_stats":{"prompt_tps":1000.0,"generation_tps":50.0},"power_usage":{"nodes":[{"node_id":"a","samples":3}]}}`
	recs := oneRequest(r)
	for range 1000 {
		recs = append(recs, recs[3])
		for range 5 {
			recs = append(recs, &collect.Samples{Samples: []collect.Sample{sample("n", "power", "W", 100*rnd.Float64())}})
		}
	}
	for b.Loop() {
		if err := exchange.ExoResults(&bytes.Buffer{}, values(recs)); err != nil {
			b.Fatal(err)
		}
	}
}

// liveHeap counts what is written to it, and looks at the heap now and then.
type liveHeap struct {
	bytes, writes int
	first, most   uint64
}

func (l *liveHeap) Write(p []byte) (int, error) {
	if l.writes%256 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if l.first == 0 {
			l.first = m.HeapAlloc
		}
		l.most = max(l.most, m.HeapAlloc)
	}
	l.writes++
	l.bytes += len(p)
	return len(p), nil
}
