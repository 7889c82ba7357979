package analyze_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// plant makes the records of a target that sensors watched.
type plant struct {
	recs   []collect.Record
	target *collect.TargetInfo
	cs     *collect.Case
	n      int64
}

func newPlant(nodes ...string) *plant {
	p := &plant{
		target: &collect.TargetInfo{TargetID: 1, Engine: "e", Driver: "openai", ModelID: "m", Nodes: nodes},
		cs: &collect.Case{TargetID: 1, CaseID: 1, PP: ptr(int64(100)), TG: 50, Concurrency: 1, CacheMode: collect.CacheCold,
			PromptKind: "sized", PromptSource: collect.PromptCalibrated, Streaming: true},
	}
	p.add(session("host"), &collect.Segment{Segment: 1}, p.target, p.cs)
	return p
}

func (p *plant) add(recs ...collect.Record) { p.recs = append(p.recs, recs...) }

func ns(s float64) int64 { return int64(math.Round(s * 1e9)) }

// batch has as many requests as the case has streams; each makes its first
// output at first.
func (p *plant) batch(segment int64, from, first, to float64) *collect.Batch {
	p.n++
	b := &collect.Batch{CaseID: 1, BatchID: p.n, Segment: segment, StartNS: ns(from), EndNS: ns(to)}
	for i := range p.cs.Concurrency {
		b.Requests = append(b.Requests, collect.Request{RequestID: 100*p.n + i, ConcurrentIndex: i, StartNS: ns(from), EndNS: ns(to), PPTokens: p.cs.PP, Streamed: true,
			OutputChars: 200, Chunks: []collect.Chunk{{T: ns(first - from), Tokens: collect.TokensUnknown, Kind: collect.KindContent},
				{T: ns(to-from) - 1, Tokens: collect.TokensUnknown, Kind: collect.KindContent}},
			Report: collect.Report{PromptTokens: p.cs.PP, CompletionTokens: ptr(int64(50)), CachedTokens: ptr(int64(0))}})
	}
	p.add(b)
	return b
}

// read adds readings at whole multiples of every, by a function of time.
func (p *plant) read(segment int64, node, scope, metric string, from, to, every float64, value func(t float64) float64) {
	s := &collect.Samples{Segment: segment}
	for i := 0; ; i++ {
		t := from + float64(i)*every
		if t > to+1e-9 {
			break
		}
		s.Samples = append(s.Samples, collect.Sample{Node: node, Source: "s", Scope: scope, Metric: metric, EndNS: ns(t), Value: value(t)})
	}
	p.add(s)
}

func constant(x float64) func(float64) float64 { return func(float64) float64 { return x } }

// outcome is all that came out.
type outcome struct {
	batches  []analyze.BatchRow
	requests []analyze.RequestRow
	energy   []analyze.EnergyRow
}

func (p *plant) run(t *testing.T) outcome {
	t.Helper()
	var o outcome
	for _, d := range derived(t, records(p.recs...)) {
		o.energy = append(o.energy, d.Energy...)
		if d.Batch != nil {
			o.batches, o.requests = append(o.batches, d.Row), append(o.requests, d.Requests...)
		}
	}
	return o
}

// rows are the energy rows of a kind, node and rule.
func (o outcome) rows(kind analyze.WindowKind, node, rule string) []analyze.EnergyRow {
	return slices.DeleteFunc(slices.Clone(o.energy), func(r analyze.EnergyRow) bool {
		return r.WindowKind != kind || r.Node != node || r.Rule != rule
	})
}

func (o outcome) one(t *testing.T, kind analyze.WindowKind, node, rule string) analyze.EnergyRow {
	t.Helper()
	rows := o.rows(kind, node, rule)
	if len(rows) != 1 {
		t.Fatalf("%d rows of %s, %s, %s; want one", len(rows), kind, node, rule)
	}
	return rows[0]
}

// TestConstantPower: 60 W at 1 Hz over windows between the readings. exo-bench's
// own client loses the edges.
func TestConstantPower(t *testing.T) {
	for _, c := range []struct{ from, length, want, exo float64 }{
		{10.2, 0.6, 36, 0}, {9.9, 1.2, 72, 60}, {10.1, 4.8, 288, 180}, {9.5, 7, 420, 360},
	} {
		t.Run(fmt.Sprint(c.length), func(t *testing.T) {
			p := newPlant()
			p.batch(1, c.from, c.from+c.length/2, c.from+c.length)
			p.read(1, "", "system", "power", 0, 30, 1, constant(60))
			o := p.run(t)
			b := o.batches[0]
			near(t, "energy_j", b.EnergyJ, c.want)
			near(t, "avg_power_w", b.AvgPowerW, 60)
			near(t, "j_per_output_token", b.JPerOutputToken, c.want/50)
			near(t, "j_per_total_token", b.JPerTotalToken, c.want/150)
			if b.PowerScope != "system" || b.PowerSource != "s" || b.EnergyCoverage != "1/1" || b.EnergyNullReason != "" || !*b.EnergyIndicative {
				t.Errorf("%+v", b)
			}
			if few := slices.Contains(b.Flags, "few_power_samples"); few != (c.exo < 180) {
				t.Errorf("flags %q", b.Flags)
			}
			for _, kind := range []analyze.WindowKind{analyze.WindowBatch, analyze.WindowRequest} {
				for _, node := range []string{"host", "all"} {
					near(t, "ours", o.one(t, kind, node, "curve").EnergyJ, c.want)
					near(t, "exo's", o.one(t, kind, node, "exo_client").EnergyJ, c.exo)
				}
			}
			near(t, "target", o.one(t, analyze.WindowTarget, "all", "curve").EnergyJ, c.want)
			pre, gen := o.one(t, analyze.WindowPrefill, "all", "curve"), o.one(t, analyze.WindowGeneration, "all", "curve")
			if c.length/2 < 0.5 {
				isNull(t, "prefill", pre.EnergyJ)
				if pre.NullReason != "short_window" || pre.HighJ == nil {
					t.Errorf("%+v", pre)
				}
				return
			}
			near(t, "prefill", pre.EnergyJ, c.want/2)
			near(t, "generation", gen.EnergyJ, c.want/2)
			near(t, "prefill_j_per_prompt_token", b.PrefillJPerPromptToken, c.want/2/100)
		})
	}
}

// TestNodes: two machines, of which one has no sensor; a third is not the
// target's.
func TestNodes(t *testing.T) {
	p := newPlant("a", "b")
	p.batch(1, 2, 5, 8)
	p.read(1, "a", "system", "power", 0, 10, 1, constant(50))
	p.read(1, "idle", "system", "power", 0, 10, 1, constant(20))
	o := p.run(t)
	b := o.batches[0]
	isNull(t, "energy_j", b.EnergyJ)
	isNull(t, "j_per_output_token", b.JPerOutputToken)
	near(t, "energy_partial_j", b.EnergyPartialJ, 300)
	if b.EnergyCoverage != "1/2" || b.EnergyNullReason != "node_missing" {
		t.Errorf("%q of %q", b.EnergyNullReason, b.EnergyCoverage)
	}
	all := o.one(t, analyze.WindowBatch, "all", "curve")
	if all.Coverage != "1/2" || all.NullReason != "node_missing" || len(o.rows(analyze.WindowBatch, "idle", "curve")) != 0 {
		t.Errorf("%+v", all)
	}
	p.read(1, "b", "system", "power", 0, 10, 1, constant(30))
	b = p.run(t).batches[0]
	near(t, "energy_j", b.EnergyJ, 480)
	if b.EnergyCoverage != "2/2" || b.EnergyPartialJ != nil {
		t.Errorf("%q, %v", b.EnergyCoverage, b.EnergyPartialJ)
	}
}

// TestConcurrentStreams: the batch has its energy once, its phases none.
func TestConcurrentStreams(t *testing.T) {
	p := newPlant()
	p.cs.Concurrency = 3
	p.batch(1, 2, 5, 8)
	p.read(1, "", "system", "power", 0, 10, 1, constant(50))
	o := p.run(t)
	near(t, "energy_j", o.batches[0].EnergyJ, 300)
	near(t, "j_per_output_token", o.batches[0].JPerOutputToken, 2)
	isNull(t, "prefill_j_per_prompt_token", o.batches[0].PrefillJPerPromptToken)
	for _, kind := range []analyze.WindowKind{analyze.WindowPrefill, analyze.WindowGeneration} {
		if r := o.one(t, kind, "all", "curve"); r.EnergyJ != nil || r.NullReason != "concurrent" || r.RequestID != nil {
			t.Errorf("%+v", r)
		}
	}
	if n := len(o.rows(analyze.WindowRequest, "all", "curve")); n != 0 {
		t.Errorf("%d requests have an energy", n)
	}
}

// TestWidestScope: what the batch says is of the widest scope; each has its row.
func TestWidestScope(t *testing.T) {
	p := newPlant()
	p.batch(1, 2, 5, 8)
	p.read(1, "", "gpu", "energy", 0, 10, 0.25, func(t float64) float64 { return 30 * t })
	o := p.run(t)
	b := o.batches[0]
	near(t, "energy_j", b.EnergyJ, 180)
	if b.PowerScope != "gpu" || *b.EnergyIndicative || *b.EnergyLowJ > 180 || *b.EnergyHighJ < 180 || *b.EnergyHighJ > 180+15 {
		t.Errorf("%+v", b)
	}
	p.read(1, "", "system", "power", 0, 10, 1, constant(50))
	o = p.run(t)
	near(t, "energy_j", o.batches[0].EnergyJ, 300)
	if rows := o.rows(analyze.WindowBatch, "host", "curve"); len(rows) != 2 || o.batches[0].PowerScope != "system" || slices.Contains(o.batches[0].Flags, "component_above_system") {
		t.Errorf("%d rows; %+v", len(rows), o.batches[0])
	}
	p.read(1, "", "cpu", "power", 0, 10, 1, constant(40))
	if o = p.run(t); !slices.Contains(o.batches[0].Flags, "component_above_system") || !slices.Contains(o.requests[0].Flags, "component_above_system") {
		t.Errorf("flags %q: 30 + 40 W of 50", o.batches[0].Flags)
	}
}

// TestWhyThereIsNone: the reason of the sensor that says the most.
func TestWhyThereIsNone(t *testing.T) {
	channel := func(scope, missing string) collect.Channel {
		return collect.Channel{Source: "x" + missing, Scope: scope, Metric: "power", Missing: missing}
	}
	for _, c := range []struct {
		name     string
		channels []collect.Channel
		sensors  bool
		want     string
	}{
		{"no sensors wanted", nil, false, "off"},
		{"none there", nil, true, "off"},
		{"one that needs root", []collect.Channel{channel("gpu", "no_channel"), channel("package", "denied")}, true, "denied"},
		{"sudo", []collect.Channel{channel("gpu", "no_channel"), channel("soc", "sudo_needed"), channel("system", "no_reading")}, true, "sudo_needed"},
		{"a container", []collect.Channel{channel("package", "masked"), channel("gpu", "no_channel")}, true, "masked"},
		{"a virtual machine", []collect.Channel{channel("soc", "vm"), channel("gpu", "no_channel")}, true, "vm"},
		{"nothing to read", []collect.Channel{channel("gpu", "no_channel")}, true, "no_channel"},
		{"could be read, and was not", []collect.Channel{channel("gpu", "")}, true, "no_reading"},
		{"no sensor of energy", []collect.Channel{{Metric: "temperature"}}, true, "no_channel"},
	} {
		p := newPlant()
		if c.sensors {
			p.add(&collect.Sensors{Segment: 1, EveryNS: 1e9, Channels: c.channels})
		}
		p.batch(1, 2, 5, 8)
		if b := p.run(t).batches[0]; b.EnergyNullReason != c.want || b.EnergyJ != nil || b.PowerScope != "" {
			t.Errorf("%s: %q, want %q", c.name, b.EnergyNullReason, c.want)
		}
	}
}

// TestIdle: gross and net are both there, and net may be negative.
func TestIdle(t *testing.T) {
	p := newPlant()
	p.add(&collect.Idle{Segment: 1, TargetID: 1, StartNS: 0, EndNS: ns(10)})
	p.batch(1, 12, 15, 18)
	p.read(1, "", "system", "power", 0, 20, 1, func(t float64) float64 {
		if t > 10.5 {
			return 60
		}
		return 20
	})
	d := analyze.NewDeriver()
	for _, rec := range p.recs {
		if _, err := d.Add(rec); err != nil {
			t.Fatal(err)
		}
	}
	rest := d.Finish()
	b := rest[1].Row
	near(t, "idle", rest[0].Energy[0].MeanW, 20)
	near(t, "energy_j", b.EnergyJ, 360)
	near(t, "energy_net_j", b.EnergyNetJ, 240)
	watts, scope, idle := d.TargetPower(1)
	near(t, "power_watts", watts, 60)
	near(t, "idle_watts", idle, 20)
	if scope != "system" {
		t.Errorf("scope %q", scope)
	}
	for _, r := range rest[1].Energy {
		if r.Rule == "curve" && r.EnergyJ != nil {
			near(t, string(r.WindowKind)+" net_j", r.NetJ, *r.EnergyJ-20*float64(r.EndNS-r.StartNS)/1e9)
		}
	}
}

// TestResumedEnergy: the clocks of two segments begin at 0 each; their readings
// are not mixed, and the target's power is that of both windows.
func TestResumedEnergy(t *testing.T) {
	p := newPlant()
	p.batch(1, 2, 5, 8)
	p.read(1, "", "system", "power", 0, 10, 1, constant(60))
	p.add(&collect.End{Status: collect.StatusInterrupted}, &collect.Segment{Segment: 2})
	p.batch(2, 2, 5, 8)
	p.read(1, "", "system", "power", 0, 10, 1, constant(500)) // late and lost
	p.read(2, "", "system", "power", 0, 10, 1, constant(20))
	o := p.run(t)
	near(t, "first", o.batches[0].EnergyJ, 360)
	near(t, "second", o.batches[1].EnergyJ, 120)
	rows := o.rows(analyze.WindowTarget, "all", "curve")
	if len(rows) != 2 || rows[0].Segment != 1 || rows[1].Segment != 2 {
		t.Fatalf("%+v", rows)
	}
	d := analyze.NewDeriver()
	for _, rec := range p.recs {
		d.Add(rec)
	}
	d.Finish()
	watts, _, _ := d.TargetPower(1)
	near(t, "power_watts", watts, 40)
}

// TestThrottledGPU: pressure, or a clock that fell together with the rate.
func TestThrottledGPU(t *testing.T) {
	for _, c := range []struct {
		name            string
		clocks, lengths [2]float64
		pressure        float64
		want            *bool
	}{
		{"steady", [2]float64{1400, 1390}, [2]float64{5, 5}, 0, ptr(false)},
		{"fell with the rate", [2]float64{1400, 1100}, [2]float64{5, 7}, 0, ptr(true)},
		{"fell alone", [2]float64{1400, 1100}, [2]float64{5, 5}, 0, ptr(false)},
		{"rose", [2]float64{1100, 1400}, [2]float64{5, 4}, 0, ptr(false)},
		{"pressure", [2]float64{1400, 1400}, [2]float64{5, 5}, 1, ptr(true)},
	} {
		p := newPlant()
		p.batch(1, 2, 3, 3+c.lengths[0])
		p.batch(1, 12, 13, 13+c.lengths[1])
		p.read(1, "", "gpu", "frequency", 0, 10, 0.5, constant(c.clocks[0]))
		p.read(1, "", "gpu", "frequency", 11, 22, 0.5, constant(c.clocks[1]))
		p.read(1, "", "soc", "pressure", 11, 22, 0.5, constant(c.pressure))
		p.read(1, "", "system", "power", 0, 30, 1, constant(60))
		o := p.run(t)
		got := o.batches[1].Throttled
		if got == nil || *got != *c.want || slices.Contains(o.batches[1].Flags, "throttled") != *got || slices.Contains(o.requests[1].Flags, "throttled") != *got {
			t.Errorf("%s: %v, flags %q and %q", c.name, got, o.batches[1].Flags, o.requests[1].Flags)
		}
		if o.batches[0].Throttled != nil {
			t.Errorf("%s: the first batch has nothing to be compared with, and is %v", c.name, *o.batches[0].Throttled)
		}
	}
}

// TestExoServerRows: exo's own figures are rows of their own, and the batch's
// where no sensor of ours read the machine.
func TestExoServerRows(t *testing.T) {
	p := newPlant("mac-1", "mac-2")
	p.target.Driver, p.target.Cluster = "exo", cluster
	b := p.batch(1, 2, 5, 8)
	b.Requests[0].Report.JSON = `{"power_usage":{"elapsed_seconds":6,"total_energy_joules":606,"nodes":[
		{"node_id":"x1","samples":6,"avg_sys_power":60,"prefill_energy_joules":150,"generation_energy_joules":210},
		{"node_id":"x2","samples":5,"avg_sys_power":40,"prefill_energy_joules":100,"generation_energy_joules":146}]}}`
	o := p.run(t)
	near(t, "energy_j", o.batches[0].EnergyJ, 606)
	p.read(1, "mac-1", "system", "power", 0, 10, 1, constant(61))
	p.read(1, "mac-2", "system", "power", 0, 10, 1, constant(41))
	o = p.run(t)
	near(t, "energy_j", o.batches[0].EnergyJ, 612)
	for kind, want := range map[analyze.WindowKind][3]float64{
		analyze.WindowBatch: {360, 240, 606}, analyze.WindowRequest: {360, 240, 606}, analyze.WindowPrefill: {150, 100, 250}, analyze.WindowGeneration: {210, 146, 356},
	} {
		for i, node := range []string{"mac-1", "mac-2", "all"} {
			r := o.one(t, kind, node, "exo_server")
			near(t, string(kind)+" of "+node, r.EnergyJ, want[i])
			if r.Scope != "system" || !r.Indicative || r.LowJ != nil {
				t.Errorf("%+v", r)
			}
		}
	}
	near(t, "exo_client", o.one(t, analyze.WindowBatch, "all", "exo_client").EnergyJ, 612)
}

// TestEnergiesAddUp: of random sequential batches under a random power, the
// phases add up to the request, the requests use no more than the target, and a
// counter's bracket holds the truth each time.
func TestEnergiesAddUp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		p := newPlant()
		w := 0.2 + rnd.Float64()*3
		a := 90 / w
		truth := func(t float64) float64 { return 100*t + a*(1-math.Cos(w*t)) } // J: the power is never negative
		at := 1.0
		for range 1 + rnd.IntN(6) {
			first, end := at+1+rnd.Float64(), at+2+3*rnd.Float64()
			p.batch(1, at, first, max(end, first+1))
			at = max(end, first+1) + rnd.Float64()
		}
		p.read(1, "", "package", "energy", 0, at+2, 0.25, truth)
		o := p.run(t)
		sum := 0.0
		for i, r := range o.rows(analyze.WindowRequest, "all", "curve") {
			pre, gen := o.rows(analyze.WindowPrefill, "all", "curve")[i], o.rows(analyze.WindowGeneration, "all", "curve")[i]
			if math.Abs(*pre.EnergyJ+*gen.EnergyJ-*r.EnergyJ) > 1e-6 {
				t.Errorf("%v + %v J in phases of %v", *pre.EnergyJ, *gen.EnergyJ, *r.EnergyJ)
			}
			used := truth(float64(r.EndNS)/1e9) - truth(float64(r.StartNS)/1e9)
			if *r.LowJ > used || used > *r.HighJ || *r.EnergyJ < *r.LowJ || *r.EnergyJ > *r.HighJ {
				t.Errorf("%v J not in [%v, %v], which has %v", used, *r.LowJ, *r.HighJ, *r.EnergyJ)
			}
			sum += *r.EnergyJ
		}
		if whole := *o.one(t, analyze.WindowTarget, "all", "curve").EnergyJ; sum > whole+1e-6 {
			t.Errorf("requests used %v J of the target's %v", sum, whole)
		}
	}
}

// TestWhoseSensors: the readings of this machine say nothing of a server
// elsewhere; those of its own machine do.
func TestWhoseSensors(t *testing.T) {
	for _, c := range []struct{ endpoint, node, reason string }{
		{"", "", ""},
		{"http://127.0.0.1:8080/v1", "", ""},
		{"http://[::1]:8080/v1", "", ""},
		{"http://localhost/v1", "", ""},
		{"http://HOST.local:8080/v1", "", ""},
		{"http://studio.lan:8080/v1", "", "node_missing"},
		{"http://192.168.1.7:8080/v1", "", "node_missing"},
		{"http://192.168.1.7:8080/v1", "192.168.1.7", ""},
		{"http://127.0.0.1:8080/v1", "192.168.1.7", "node_missing"},
	} {
		p := newPlant()
		p.target.Endpoint = c.endpoint
		p.add(&collect.Sensors{Segment: 1, EveryNS: 1e9, Channels: []collect.Channel{{Node: c.node, Source: "s", Scope: "system", Metric: "power", Unit: "W"}}})
		p.batch(1, 2, 5, 8)
		p.read(1, c.node, "system", "power", 0, 10, 1, constant(50))
		if b := p.run(t).batches[0]; b.EnergyNullReason != c.reason || (b.EnergyJ == nil) != (c.reason != "") {
			t.Errorf("%s, read on %q: %q, want %q", c.endpoint, c.node, b.EnergyNullReason, c.reason)
		}
	}
}
