package plot

import (
	"math"
	"math/rand/v2"

	"tokwatt/analyze"
)

// batchOf is n streams of tokens each about 1000/rate ms apart, with a stall of
// every stream now and then where there are to be some.
func batchOf(n, tokens int, rate float64, stalls int) analyze.StreamBatch {
	r := rand.New(rand.NewPCG(9, uint64(n)))
	pp := int64(2048)
	b := analyze.StreamBatch{SessionID: "0199a000-0000-7000-8000-000000000001", Engine: "exo", EngineVersion: "1.0.70", ModelID: "Qwen3-8B",
		Quantization: "4bit", CaseID: 2, BatchID: 17, PP: &pp, TG: int64(tokens), Concurrency: int64(n), Longest: true}
	hitch := map[int]float64{} // ms, of all streams at once
	for range stalls {
		hitch[r.IntN(tokens)] = 300 + 2000*r.Float64()
	}
	for i := range n {
		s := analyze.Stream{RequestID: int64(100 + i), Index: int64(i), Status: "ok", StartNS: int64(i) * 40_000}
		at := float64(s.StartNS) + 1e6*(400+120*float64(i)+30*r.NormFloat64())
		for k := range tokens {
			s.Arrivals = append(s.Arrivals, analyze.Arrival{NS: int64(at), Tokens: new(int64(1))})
			at += 1e6 * (hitch[k] + 1000/rate*math.Exp(0.25*r.NormFloat64()))
		}
		s.EndNS = int64(at)
		b.Streams = append(b.Streams, s)
	}
	return b
}

func itlOf(b analyze.StreamBatch) func() (*Figure, error) {
	return func() (*Figure, error) { return ITL(b) }
}

func itlGallery() []picture {
	failed := batchOf(8, 200, 30, 0)
	failed.Streams[3].Arrivals = failed.Streams[3].Arrivals[:60]
	failed.Streams[3].EndNS = failed.Streams[3].Arrivals[59].NS + 3e9
	failed.Streams[3].Status, failed.Streams[3].ErrorKind = "failed", "stall"
	failed.Streams[6].Arrivals = nil
	failed.Streams[6].EndNS = 5e8
	failed.Streams[6].Status, failed.Streams[6].ErrorKind = "failed", "http"
	chunky := batchOf(1, 60, 8, 1)
	for i := range chunky.Streams[0].Arrivals {
		chunky.Streams[0].Arrivals[i].Tokens = new(int64(4))
	}
	burst := batchOf(1, 60, 40, 1) // three at a time
	for i := range burst.Streams[0].Arrivals {
		burst.Streams[0].Arrivals[i].NS = burst.Streams[0].Arrivals[i-i%3].NS
	}
	short := batchOf(2, 3, 20, 0)
	short.Warmup, short.Longest = true, false
	return []picture{
		{"itl", itlOf(batchOf(1, 256, 42, 2)), 2},
		{"itl_smooth", itlOf(batchOf(1, 128, 42, 0)), 2},
		{"itl_streams", itlOf(batchOf(8, 300, 25, 3)), 2},
		{"itl_64", itlOf(batchOf(64, 400, 12, 4)), 2},
		{"itl_failed", itlOf(failed), 2},
		{"itl_chunks", itlOf(chunky), 2},
		{"itl_bursts", itlOf(burst), 2},
		{"itl_short", itlOf(short), 2},
		{"itl_long", itlOf(batchOf(1, 20000, 90, 5)), 2},
	}
}
