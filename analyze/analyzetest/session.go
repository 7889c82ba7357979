// Package analyzetest makes synthetic sessions: records as a run would have
// recorded them, from a seed alone. They go through analyze.Export like any
// others, so that whatever is tested with them is tested behind the formulas.
//
// A session has several engines, sizes and concurrencies, cold and prefix
// cases, a warm-up each, and, unless Clean, one request in fifteen with some
// fault: failed, invalid, short, without counts, not streamed, answered from
// the cache.
//
// The figures are near to life, but nothing follows from them: rates and times
// are drawn around a value for each target and size.
package analyzetest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"tokwatt/collect"
)

// Options says what a session holds. The zero value is a small session with
// faults.
type Options struct {
	Seed        uint64
	Host        string    // default "mac-0"
	Start       time.Time // default 2026-01-15 10:00 UTC
	Targets     int       // default 3, of the engines in turn
	First       int       // which engine and model are the first target's
	PP          []int64   // default 128, 512, 4096
	Concurrency []int64   // default 1, 4
	Repeats     int       // default 6
	Tokens      int       // output tokens, one a chunk; default 20
	Clean       bool      // no faults
	Unfinished  bool      // no End: the process died
	Power       bool      // sensors that are read once a second, and a quiet window before each target
}

func (o Options) defaults() Options {
	if o.Host == "" {
		o.Host = "mac-0"
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)
	}
	if o.Targets == 0 {
		o.Targets = 3
	}
	if o.PP == nil {
		o.PP = []int64{128, 512, 4096}
	}
	if o.Concurrency == nil {
		o.Concurrency = []int64{1, 4}
	}
	if o.Repeats == 0 {
		o.Repeats = 6
	}
	if o.Tokens == 0 {
		o.Tokens = 20
	}
	return o
}

// ID is the id of the session that the options make, a UUIDv7.
func (o Options) ID() string {
	o = o.defaults()
	ms := uint64(o.Start.UnixMilli())
	r := rand.New(rand.NewPCG(o.Seed, ms))
	for _, c := range o.Host {
		r = rand.New(rand.NewPCG(r.Uint64(), uint64(c)))
	}
	return fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x", ms>>16, ms&0xffff, r.Uint64()&0xfff, 0x8000|r.Uint64()&0x3fff, r.Uint64()&(1<<48-1))
}

// Records is the session. No record is used again after it was handed out.
func Records(o Options) iter.Seq2[collect.Record, error] {
	o = o.defaults()
	return func(yield func(collect.Record, error) bool) {
		g := &generator{o: o, rnd: rand.New(rand.NewPCG(o.Seed, 1)), yield: yield}
		g.run()
	}
}

// Fleet is one session a host and day, with the other options as given: hosts
// whose names are easily lost (007, 1e3, "Mac Mini") are among the first.
func Fleet(hosts, days int, o Options) iter.Seq[Options] {
	o = o.defaults()
	return func(yield func(Options) bool) {
		for h := range hosts {
			for d := range days {
				s := o
				s.Host = HostName(h)
				s.Start = o.Start.AddDate(0, 0, d).Add(time.Duration(h) * time.Minute)
				s.Seed = o.Seed + uint64(h*days+d)
				if !yield(s) {
					return
				}
			}
		}
	}
}

// HostName is the name of the i-th host of a fleet.
func HostName(i int) string {
	names := []string{"mac-0", "007", "1e3", "Mac Mini", "kitchen=50%/é"}
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("mac-%d", i)
}

// generator hands out the records of a session in the order of a run.
type generator struct {
	o     Options
	rnd   *rand.Rand
	yield func(collect.Record, error) bool
	ended bool
	now   int64 // ns since the segment's origin
	batch int64
	req   int64
	meter meter
}

func (g *generator) put(rec collect.Record) {
	if !g.ended && !g.yield(rec, nil) {
		g.ended = true
	}
}

func (g *generator) run() {
	o := g.o
	g.put(&collect.Session{
		ID: o.ID(), StartedAt: o.Start, Profile: "default", Options: `{"repeat":6}`,
		Tags: []string{"synthetic", "nightly"},
		Host: collect.Host{Name: o.Host, Chip: "Apple M3 Max", Model: "Mac15,9", CPUCores: ptr(int64(16)),
			RAMBytes: ptr(int64(64 << 30)), OSName: "macOS", OSVersion: "26.1"},
	})
	g.put(&collect.Segment{Segment: 1, StartedAt: o.Start, ToolVersion: "0.0.0-test", BootID: "boot", PID: 4242,
		PlannedBatches: int64(o.Targets * len(o.PP) * len(o.Concurrency) * o.Repeats)})
	if o.Power {
		g.put(sensors())
	}
	caseID := int64(0)
	for t := range o.Targets {
		target := targetInfo(t, o.First+t)
		g.put(target)
		g.idle(target.TargetID)
		caseID = g.target(t, target, caseID)
	}
	if !o.Unfinished {
		g.put(&collect.End{At: o.Start.Add(time.Duration(g.now)), Status: collect.StatusComplete})
	}
}

// target runs the cases of a target, one after the other; it returns the last
// case's id.
func (g *generator) target(t int, info *collect.TargetInfo, caseID int64) int64 {
	for i, pp := range g.o.PP {
		for _, streams := range g.o.Concurrency {
			caseID++
			c := &collect.Case{
				TargetID: info.TargetID, CaseID: caseID, PP: &pp, TG: int64(g.o.Tokens), TGWanted: true,
				TemplateHeadTokens: ptr(int64(3)), Concurrency: streams, CacheMode: collect.CacheCold, ColdMethod: "nonce",
				PromptKind: "sized", PromptSource: collect.PromptCalibrated, Streaming: true,
			}
			if i == len(g.o.PP)-1 && t%2 == 1 {
				c.CacheMode, c.ColdMethod = collect.CachePrefix, ""
			}
			g.put(c)
			for repeat := -1; repeat < g.o.Repeats && !g.ended; repeat++ {
				g.put(g.newBatch(t, info, c, repeat))
				if g.o.Power {
					g.put(g.meter.read(g.now))
				}
			}
		}
	}
	if g.o.Power {
		g.put(g.meter.read(g.now + 1000*millisecond))
	} else {
		g.put(g.readings())
	}
	return caseID
}

// readings are some of a sensor's: a counter's averages, and one of an instant.
func (g *generator) readings() *collect.Samples {
	s := &collect.Samples{Segment: 1}
	for i := range int64(3) {
		from := g.now + i*1000*millisecond
		s.Samples = append(s.Samples, collect.Sample{Node: g.o.Host, Source: "synthetic", Scope: "gpu", Metric: "power", Unit: "W",
			StartNS: &from, EndNS: from + 1000*millisecond, Value: 20 + float64(i)})
	}
	s.Samples[2].StartNS, s.Samples[2].Scope = nil, "system"
	return s
}

// targetInfo is the t-th target of a session, with the i-th engine and model.
func targetInfo(t, i int) *collect.TargetInfo {
	engines := []struct{ engine, driver, version string }{
		{"llama.cpp", "openai", "b7000"}, {"mlx_lm", "openai", "0.30.0"}, {"reference", "inproc", ""},
		{"openai", "openai", ""},
	}
	models := []string{"demo-1b", "demo-8b", "demo-70b"}
	e := engines[i%len(engines)]
	info := &collect.TargetInfo{
		TargetID: int64(t + 1), Engine: e.engine, Driver: e.driver, EngineVersion: e.version,
		ModelID: models[i%len(models)], ServedModel: "org/" + models[i%len(models)], Quantization: "4bit", ModelFormat: "mlx",
	}
	if e.driver == "openai" {
		info.Endpoint = "http://127.0.0.1:8080/v1"
	}
	return info
}

func ptr[T any](v T) *T { return &v }
