package power_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tokwatt/power"
)

// troubleCase is a file of testdata/cases/power.
type troubleCase struct {
	Kind      string                  `json:"source_kind"`
	NominalS  float64                 `json:"nominal_s"`
	RangeUJ   *float64                `json:"max_range_uj"`
	Window    [2]float64              `json:"window"`
	Samples   []caseSample            `json:"samples"`
	Nodes     map[string][]caseSample `json:"nodes"`
	Placement []string                `json:"placement"`
	Rails     map[string][]caseSample `json:"rails"`
	Req       struct{ Scope string }  `json:"req"`
	TokensOut *float64                `json:"tokens_out"`
	TokPerSec *float64                `json:"tok_per_sec"`
	Expect    map[string]any          `json:"expect"`
	Trap      map[string]any          `json:"trap"`
}

type caseSample struct {
	T      *float64 `json:"t_s"`
	Stamp  *float64 `json:"stamp_s"`
	T0     *float64 `json:"t0_s"`
	T1     *float64 `json:"t1_s"`
	Watts  *float64 `json:"watts"`
	Joules *float64 `json:"joules"`
	UJ     *float64 `json:"uj"`
}

func ns(s float64) int64 { return int64(math.Round(s * 1e9)) }

// reading puts a sample at the sensor's own stamp where it has one.
func (s caseSample) reading() power.Reading {
	switch {
	case s.T0 != nil:
		start := ns(*s.T0)
		return power.Reading{StartNS: &start, EndNS: ns(*s.T1), Value: *s.Joules / (*s.T1 - *s.T0)}
	case s.Stamp != nil:
		s.T = s.Stamp
	}
	r := power.Reading{EndNS: ns(*s.T), Value: math.NaN()}
	switch {
	case s.Watts != nil:
		r.Value = *s.Watts
	case s.UJ != nil:
		r.Value = *s.UJ / 1e6
	case s.Joules != nil:
		r.Value = *s.Joules
	}
	return r
}

func (c *troubleCase) window(node string, scope power.Scope, samples []caseSample) power.Window {
	s := power.Series{Channel: power.Channel{Node: node, Source: "case", Scope: scope, Metric: power.MetricPower}}
	if c.Kind == "counter" {
		s.Channel.Metric = power.MetricEnergy
	}
	if c.RangeUJ != nil {
		s.Channel.Range = *c.RangeUJ / 1e6
	}
	for _, one := range samples {
		s.Readings = append(s.Readings, one.reading())
		s.Channel.Stamped = s.Channel.Stamped || one.Stamp != nil
	}
	return s.Curve(time.Duration(ns(c.NominalS))).Energy(ns(c.Window[0]), ns(c.Window[1]))
}

// windows are those of all nodes and scopes, and the nodes that count.
func (c *troubleCase) windows() (all []power.Window, nodes []string) {
	for node, samples := range c.Nodes {
		all = append(all, c.window(node, power.ScopeSystem, samples))
		nodes = append(nodes, node)
	}
	for scope, samples := range c.Rails {
		all = append(all, c.window("a", power.Scope(scope), samples))
	}
	if c.Samples != nil {
		scope := power.ScopeGPU
		if c.Req.Scope != "" {
			scope = power.Scope(c.Req.Scope)
		}
		all = append(all, c.window("a", scope, c.Samples))
	}
	if c.Placement != nil {
		nodes = c.Placement
	} else if nodes == nil {
		nodes = []string{"a"}
	}
	return all, nodes
}

// figures are the values by the names that the cases use.
func (c *troubleCase) figures() map[string]any {
	all, nodes := c.windows()
	t := power.Sum(all, nodes)
	out := map[string]any{
		"energy_j": value(t.EnergyJ), "energy_low_j": value(t.LowJ), "energy_high_j": value(t.HighJ),
		"energy_partial_j": value(t.PartialJ), "energy_coverage": t.Coverage,
		"mean_w": value(t.MeanW), "peak_w": value(t.PeakW), "power_watts": value(t.MeanW),
		"samples_in_window": float64(t.Samples), "max_gap_s": value(t.MaxGapS),
		"rejected_samples": float64(t.Rejected), "reason": nil, "flags": []string{},
		"tok_per_sec_per_watt": ratio(c.TokPerSec, t.MeanW), "j_per_output_token": ratio(t.EnergyJ, c.TokensOut),
	}
	if t.Reason != "" {
		out["reason"] = string(t.Reason)
	}
	if power.ComponentAboveSystem(all) {
		out["flags"] = []string{"component_above_system"}
	}
	for _, w := range all {
		out[fmt.Sprintf("energy_%s_j", w.Scope)] = value(w.EnergyJ)
	}
	return out
}

func value(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func ratio(x, y *float64) any {
	if x == nil || y == nil {
		return nil
	}
	return *x / *y
}

// meets holds a figure against what a case expects of it.
func meets(want, got any) bool {
	form, ok := want.(map[string]any)
	if !ok {
		w, number := want.(float64)
		g, _ := got.(float64)
		return want == got || number && got != nil && math.Abs(g-w) <= 1e-6*max(1, math.Abs(w))
	}
	if form["not_empty"] == true {
		return len(got.([]string)) > 0
	}
	if form["not_null"] == true {
		// The case only suggests the reason's name; these are all ours.
		return got != nil && (form["suggest"] == nil || got == form["suggest"])
	}
	g, ok := got.(float64)
	low, hasLow := form["min"].(float64)
	high, hasHigh := form["max"].(float64)
	return ok && hasLow && hasHigh && low <= g && g <= high
}

func TestTroubleCases(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/power/*.json")
	if err != nil || len(files) < 21 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c troubleCase
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			got := c.figures()
			for name, want := range c.Expect {
				figure, known := got[name]
				if !known || !meets(want, figure) {
					t.Errorf("%s = %v, want %v", name, figure, want)
				}
			}
			for name, bad := range c.Trap {
				traps, ok := bad.([]any)
				if !ok {
					traps = []any{bad}
				}
				if slices.ContainsFunc(traps, func(trap any) bool { return meets(trap, got[name]) }) {
					t.Errorf("%s = %v, which is the trap", name, got[name])
				}
			}
		})
	}
}
