package plot

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"tokwatt/analyze"
	"tokwatt/power"
)

// rig is a session with sensors, of which the tests know what they would show.
type rig struct {
	analyze.PowerSession
	now  int64 // ns
	seg  int64
	next int64
	r    *rand.Rand
	load []loaded // what the machine did
}

type loaded struct {
	from, to int64
	watts    float64
}

const second = 1_000_000_000

func newRig() *rig {
	g := &rig{r: rand.New(rand.NewPCG(3, 3))}
	g.SessionID, g.Host = "0199a000-0000-7000-8000-000000000001", "studio"
	g.Targets = []analyze.PowerTarget{{TargetID: 1, Engine: "mlx_lm", EngineVersion: "0.29.1", ModelID: "Qwen3-8B", Quantization: "4bit"}}
	g.segment(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	return g
}

func (g *rig) segment(at time.Time) {
	g.seg++
	g.now, g.load = 3*second, nil
	g.Segments = append(g.Segments, analyze.PowerSegment{Segment: g.seg, StartedAt: at})
}

func (g *rig) idle(target int64) {
	g.Idle = append(g.Idle, analyze.PowerIdle{Segment: g.seg, TargetID: target, StartNS: g.now, EndNS: g.now + 10*second})
	g.now += 11 * second
}

// batch runs for so many seconds of prefill and generation; spread is between
// the first outputs of its streams.
func (g *rig) batch(target, case_, pp, streams int64, warm bool, prefill, spread, generation float64) {
	ns := func(s float64) int64 { return int64(s * second) }
	b := analyze.PowerBatch{Segment: g.seg, TargetID: target, CaseID: case_, PP: &pp, TG: 128, Concurrency: streams, Warmup: warm, StartNS: g.now}
	first, all := g.now+ns(prefill), g.now+ns(prefill+spread)
	b.FirstNS, b.LastNS, b.EndNS = &first, &all, all+ns(generation)
	g.next++
	b.BatchID = g.next
	g.Batches = append(g.Batches, b)
	g.load = append(g.load, loaded{b.StartNS, all, 52}, loaded{all, b.EndNS, 31})
	g.now = b.EndNS + second
}

// watts is what the machine draws at t.
func (g *rig) watts(t int64) float64 {
	i := sort.Search(len(g.load), func(i int) bool { return g.load[i].to > t })
	if i < len(g.load) && g.load[i].from <= t {
		return g.load[i].watts
	}
	return 6
}

// sense adds a sensor's readings until now, but in the time of the hole.
func (g *rig) sense(node, source, scope string, kind power.Kind, every float64, scale, noise float64, hole stretch) {
	var list []analyze.PowerReading
	metric, joules, step := "power", 0.0, int64(every*second)
	for t := step; t < g.now+3*second; t += step {
		from, sum := t-step, 0.0
		for k := range int64(10) {
			sum += g.watts(from+k*step/10) / 10
		}
		watts := math.Max(0.2, scale*(sum+noise*g.r.NormFloat64()))
		joules += watts * every
		if s := float64(t) / second; s > hole.from && s < hole.to {
			continue
		}
		r := analyze.PowerReading{EndNS: t, Value: watts}
		switch kind {
		case power.Counter:
			metric, r.Value = "energy", joules
		case power.Average:
			r.StartNS = &from
		}
		list = append(list, r)
	}
	trace := analyze.NewPowerTrace(analyze.PowerTrace{Segment: g.seg, Node: node, Source: source, Scope: scope}, metric, list)
	g.Traces = append(g.Traces, *trace)
}

// mac is a session as a Mac's own sensors see it.
func mac(prompts []int64, repeats int) *rig {
	g := newRig()
	g.idle(1)
	g.batch(1, 1, prompts[0], 1, true, 0.5*float64(prompts[0])/512, 0, 4)
	for range repeats {
		for i, pp := range prompts {
			g.batch(1, int64(i+1), pp, 1, false, 0.7*float64(pp)/512, 0, 4.2)
		}
	}
	return g
}

func (g *rig) macSensors(node string, every float64) *rig {
	g.sense(node, "ioreport", "system", power.Instant, every*4, 1.35, 1.2, stretch{})
	g.sense(node, "ioreport", "gpu", power.Counter, every, 0.7, 1, stretch{})
	g.sense(node, "ioreport", "cpu", power.Counter, every, 0.12, 1, stretch{})
	return g
}

func powerPicture(name string, g *rig, opt PowerOptions) picture {
	return picture{name, func() (*Figure, error) { return Power(g.PowerSession, opt) }, 2}
}

func powerGallery() []picture {
	one := mac([]int64{512}, 1)
	one.sense("studio", "battery", "system", power.Instant, 2, 1.3, 0.5, stretch{})
	short := mac([]int64{512, 2048, 4096}, 2).macSensors("studio", 0.25)
	holed := mac([]int64{512, 2048}, 3)
	holed.sense("studio", "macmon", "gpu", power.Average, 1, 0.7, 1, stretch{31, 44})
	holed.sense("studio", "exo", "system", power.Instant, 1, 1.3, 1, stretch{31, 40})
	return []picture{
		powerPicture("power_one", one, PowerOptions{}),
		powerPicture("power_short", short, PowerOptions{}),
		powerPicture("power_batch", short, PowerOptions{Batch: 4}),
		powerPicture("power_gaps", holed, PowerOptions{}),
		powerPicture("power_cluster", cluster(), PowerOptions{}),
		powerPicture("power_targets", targets(), PowerOptions{}),
		powerPicture("power_resumed", resumed(), PowerOptions{}),
		powerPicture("power_day", day(6*3600), PowerOptions{}),
	}
}

// cluster is four nodes, one of them much smaller than the others.
func cluster() *rig {
	g := newRig()
	g.Host = "laptop"
	g.Targets[0].Engine, g.Targets[0].EngineVersion = "exo", "1.0.0"
	g.idle(1)
	for i, streams := range []int64{1, 4, 8, 4} {
		g.batch(1, int64(i+1), 4096, streams, i == 0, 4, 3*float64(streams-1)/2, 9)
	}
	for i, node := range []string{"mac-studio-1", "mac-studio-2", "mac-studio-3", "mini"} {
		scale := []float64{2, 1.9, 2.1, 0.3}[i]
		g.sense(node, "exo", "system", power.Instant, 1, scale, 1, stretch{})
	}
	return g
}

// targets are three engines one after the other, with long names.
func targets() *rig {
	g := newRig()
	g.Targets = nil
	for i, e := range []string{"mlx_lm", "llama.cpp", "ollama"} {
		id := int64(i + 1)
		g.Targets = append(g.Targets, analyze.PowerTarget{TargetID: id, Engine: e, ModelID: "Qwen3-8B"})
		g.idle(id)
		for k, pp := range []int64{128, 512, 2048, 4096} {
			for r := range 4 {
				g.batch(id, id*10+int64(k), pp, 1, r == 0 && k == 0, 1+float64(pp)/900, 0, 6)
			}
		}
	}
	g.sense("workstation", "nvidia", "gpu", power.Average, 0.1, 5, 2, stretch{})
	g.sense("workstation", "rapl", "package", power.Counter, 0.25, 1.4, 2, stretch{})
	g.sense("workstation", "rapl", "dram", power.Counter, 0.25, 0.2, 0.2, stretch{})
	return g
}

// resumed is a session that went on hours later.
func resumed() *rig {
	g := mac([]int64{512, 2048}, 1).macSensors("studio", 0.5)
	g.segment(time.Date(2026, 7, 1, 15, 30, 0, 0, time.UTC))
	g.idle(1)
	g.batch(1, 2, 2048, 1, false, 3, 0, 5)
	g.batch(1, 1, 512, 1, false, 1, 0, 5)
	return g.macSensors("studio", 0.5)
}

// day is batches without end: more readings than columns, and batches too
// short for their phases.
func day(seconds int64) *rig {
	g := newRig()
	g.idle(1)
	for g.now < seconds*second {
		for i, pp := range []int64{512, 2048, 4096} {
			g.batch(1, int64(i+1), pp, 1, false, 0.7*float64(pp)/512, 0, 5)
		}
		if g.r.IntN(40) == 0 {
			g.now += 300 * second
		}
	}
	kinds := []power.Kind{power.Counter, power.Counter}
	for i, scope := range []string{"gpu", "cpu"} {
		g.sense("studio", "ioreport", scope, kinds[i], 0.25, []float64{0.7, 0.12}[i], 2, stretch{9000, 10000})
	}
	return g
}
