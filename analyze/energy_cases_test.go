package analyze_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// powerCase is one of testdata/cases/power: readings, the window of a batch,
// and what its row must say.
type powerCase struct {
	Kind      string                    `json:"source_kind"`
	NominalS  float64                   `json:"nominal_s"`
	RangeUJ   *float64                  `json:"max_range_uj"`
	Window    [2]float64                `json:"window"`
	Samples   []powerReading            `json:"samples"`
	Nodes     map[string][]powerReading `json:"nodes"`
	Placement []string                  `json:"placement"`
	Rails     map[string][]powerReading `json:"rails"`
	Req       struct{ Scope string }    `json:"req"`
	TokensOut *int64                    `json:"tokens_out"`
	Expect    map[string]any            `json:"expect"`
}

type powerReading struct {
	T      *float64 `json:"t_s"`
	Stamp  *float64 `json:"stamp_s"`
	T0     *float64 `json:"t0_s"`
	T1     *float64 `json:"t1_s"`
	Watts  *float64 `json:"watts"`
	Joules *float64 `json:"joules"`
	UJ     *float64 `json:"uj"`
}

// sample is the reading as a session records it.
func (r powerReading) sample() collect.Sample {
	s := collect.Sample{Metric: "power", Value: math.NaN()}
	switch {
	case r.T0 != nil:
		s.StartNS, s.EndNS, s.Value = ptr(ns(*r.T0)), ns(*r.T1), *r.Joules/(*r.T1-*r.T0)
		return s
	case r.Stamp != nil:
		s.EndNS = ns(*r.Stamp)
	default:
		s.EndNS = ns(*r.T)
	}
	switch {
	case r.Watts != nil:
		s.Value = *r.Watts
	case r.UJ != nil:
		s.Value = *r.UJ / 1e6
	case r.Joules != nil:
		s.Value = *r.Joules
	}
	return s
}

// records is a session of one batch.
func (c *powerCase) records() []collect.Record {
	p := newPlant(c.Placement...)
	sensors := &collect.Sensors{Segment: 1, EveryNS: ns(c.NominalS)}
	all := &collect.Samples{Segment: 1}
	add := func(node, scope string, readings []powerReading) {
		ch := collect.Channel{Node: node, Source: "case", Scope: scope, Metric: "power"}
		if c.Kind == "counter" {
			ch.Metric = "energy"
		}
		if c.RangeUJ != nil {
			ch.Range = *c.RangeUJ / 1e6
		}
		for _, r := range readings {
			s := r.sample()
			s.Node, s.Source, s.Scope, s.Metric = node, "case", scope, ch.Metric
			ch.Stamped = ch.Stamped || r.Stamp != nil
			all.Samples = append(all.Samples, s)
		}
		sensors.Channels = append(sensors.Channels, ch)
	}
	for node, readings := range c.Nodes {
		add(node, "system", readings)
		if c.Placement == nil {
			p.target.Nodes = append(p.target.Nodes, node)
		}
	}
	for scope, readings := range c.Rails {
		add("", scope, readings)
	}
	if c.Samples != nil {
		scope := c.Req.Scope
		if scope == "" {
			scope = "gpu"
		}
		add("", scope, c.Samples)
	}
	p.add(sensors)
	b := p.batch(1, c.Window[0], (c.Window[0]+c.Window[1])/2, c.Window[1])
	if c.TokensOut != nil {
		p.cs.TGWanted = false
		b.Requests[0].Report.CompletionTokens = c.TokensOut
	}
	p.add(all)
	return p.recs
}

// TestPowerCases: what each case expects of a batch stands in the batch's row
// or that of its window.
func TestPowerCases(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/power/*.json")
	if err != nil || len(files) < 21 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	compared := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c powerCase
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		d := analyze.NewDeriver()
		for _, rec := range c.records() {
			if _, err := d.Add(rec); err != nil {
				t.Fatal(err)
			}
		}
		done := d.Finish()
		row := done[0].Row
		var all analyze.EnergyRow
		for _, r := range done[0].Energy {
			if r.WindowKind == analyze.WindowBatch && r.Node == "all" && r.Rule == "curve" {
				all = r
			}
		}
		watts, _, _ := d.TargetPower(1)
		got := map[string]any{
			"energy_j": value(row.EnergyJ), "energy_low_j": value(row.EnergyLowJ), "energy_high_j": value(row.EnergyHighJ),
			"energy_partial_j": value(row.EnergyPartialJ), "energy_coverage": row.EnergyCoverage, "reason": word(row.EnergyNullReason),
			"mean_w": value(row.AvgPowerW), "j_per_output_token": value(row.JPerOutputToken), "power_watts": value(watts),
			"samples_in_window": float64(all.Samples), "max_gap_s": value(all.MaxGapS), "rejected_samples": float64(all.RejectedSamples),
		}
		for name, want := range c.Expect {
			if form, ok := want.(map[string]any); ok && form["not_null"] == true {
				want = form["suggest"]
			}
			have, known := got[name]
			switch {
			case name == "flags":
				if !slices.Contains(row.Flags, "component_above_system") {
					t.Errorf("%s: flags %q", file, row.Flags)
				}
			case !known:
				continue // of one rail, or of the view asiai
			default:
				if why := differs(have, want); why != "" {
					t.Errorf("%s: %s is %s", file, name, why)
				}
			}
			compared++
		}
	}
	if compared < 35 {
		t.Errorf("%d figures compared", compared)
	}
}
