package plot

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
)

// energies is a case of single-stream batches with so many joules for 100
// tokens each, and bounds around them.
func energies(pp int64, joules ...float64) analyze.EnergyCase {
	c := analyze.EnergyCase{Summary: analyze.Summary{SessionID: "s", Engine: "e", ModelID: "m", PP: &pp, TG: 100, Concurrency: 1, CaseID: pp, NBatches: int64(len(joules))}}
	for i, j := range joules {
		per, total := j/100, j/(100+float64(pp))
		c.Batches = append(c.Batches, analyze.EnergyBatch{BatchID: int64(i), J: &j, LowJ: new(j - 5), HighJ: new(j + 20), Scope: "gpu", Counted: true,
			Figures: map[string]*float64{"energy_j": &j, "j_per_output_token": &per, "j_per_total_token": &total}})
	}
	return c
}

func drawEnergy(t *testing.T, cases []analyze.EnergyCase, opt Options) *Figure {
	t.Helper()
	f, err := Energy(cases, opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEnergyPoints(t *testing.T) {
	f := drawEnergy(t, []analyze.EnergyCase{energies(128, 100, 300, 200), energies(512, 400)}, Options{})
	p := f.Panels[0]
	pts := p.Series[0].Points
	near := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-12 }
	if len(pts) != 2 || pts[0].Median != 2 || !near(pts[0].Lo, 1.95) || !near(pts[0].Hi, 2.2) || pts[0].N != 3 || pts[0].Hollow {
		t.Errorf("points %+v, want the median 2 between the medians of the bounds, 1.95 and 2.2", pts)
	}
	if !slices.Equal(pts[0].Raw, []float64{1, 3, 2}) || pts[1].X != 512 || !near(pts[1].Hi, 4.2) {
		t.Errorf("points %+v", pts)
	}
	if p.Y.Label != "Energy (J/tok), scope gpu" || p.Y.Min != 0 || p.Y.Max < 4.2 {
		t.Errorf("axis %+v", p.Y)
	}
	if !slices.Contains(f.Notes, "Scope gpu: what else the machine draws is not in it.") || !strings.Contains(f.Notes[0], "1–3 batches per point") || !strings.Contains(f.Notes[0], "not a spread") {
		t.Errorf("notes %q", f.Notes)
	}
	f = drawEnergy(t, []analyze.EnergyCase{energies(100, 100), energies(300, 400)}, Options{Y: []string{"j_per_total_token", "energy_j"}})
	if a, b := f.Panels[0].Series[0].Points[0], f.Panels[1].Series[0].Points[0]; a.Median != 0.5 || !near(a.Hi, 0.6) || b.Median != 100 || !near(b.Lo, 95) {
		t.Errorf("per total token %+v, of a batch %+v", a, b)
	}
	if f.Title != "Energy per prompt and output token and energy of a batch by prompt length" {
		t.Errorf("title %q", f.Title)
	}
}

// The true median is between the whiskers if each batch's energy is between
// its bounds, wherever it is there.
func TestEnergyBoundsHoldTheMedian(t *testing.T) {
	for _, truth := range [][]float64{{95, 295, 195, 400}, {120, 320, 220, 415}, {95, 320, 195, 415}, {120, 295, 220, 400}} {
		pt, _ := energyPoint(energies(1, 100, 300, 200, 400).Batches, "energy_j", "gpu", false)
		if m := middle(truth); m < *pt.Lo || m > *pt.Hi {
			t.Errorf("the median of %v is %v, outside %v to %v", truth, m, *pt.Lo, *pt.Hi)
		}
	}
}

// What has no energy is left out and counted, by reason.
func TestEnergyWithout(t *testing.T) {
	a, b := energies(128, 100, 300, 200), energies(512, 400, 500)
	a.Batches[1] = analyze.EnergyBatch{NullReason: "gap", Counted: true}
	a.Batches[2] = analyze.EnergyBatch{NullReason: "short_window", Counted: true}
	b.Batches[1].Figures, b.Batches[1].Counted = map[string]*float64{"energy_j": b.Batches[1].J}, false
	none := energies(2048, 1)
	none.Batches[0] = analyze.EnergyBatch{NullReason: "gap", Counted: true}
	f := drawEnergy(t, []analyze.EnergyCase{a, b, none}, Options{})
	if pts := f.Panels[0].Series[0].Points; len(pts) != 2 || pts[0].N != 1 || pts[1].N != 1 {
		t.Errorf("points %+v", pts)
	}
	want := "4 of 6 batches without a figure, not drawn: 2 × a hole in the readings, 1 × no count of tokens (--tokenizer DIR counts), 1 × too short for the sensor."
	if !slices.Contains(f.Notes, want) {
		t.Errorf("notes %q, want %q", f.Notes, want)
	}
	if ticks := labels(f.Panels[0].X.Ticks); ticks != "128 512" {
		t.Errorf("ticks %q, want none for what is not drawn", ticks)
	}
}

// No two scopes share an axis; what is indicative is hollow, and said to be.
func TestEnergyScopes(t *testing.T) {
	a, b := energies(128, 100, 300), energies(512, 400, 200)
	a.Batches[0].Scope, a.Batches[0].Indicative = "system", true
	b.Batches[0].LowJ = nil
	f := drawEnergy(t, []analyze.EnergyCase{a, b}, Options{})
	if len(f.Panels) != 2 || f.Panels[0].Title != "Energy per output token, scope system" || !strings.HasSuffix(f.Panels[1].Y.Label, "scope gpu") {
		t.Fatalf("panels %+v", f.Panels)
	}
	sys, gpu := f.Panels[0].Series[0].Points, f.Panels[1].Series[0].Points
	if len(sys) != 1 || !sys[0].Hollow || sys[0].Median != 1 || len(gpu) != 2 || gpu[0].Hollow || gpu[0].Median != 3 || gpu[1].Lo != nil {
		t.Errorf("system %+v, gpu %+v", sys, gpu)
	}
	notes := strings.Join(f.Notes, " ")
	for _, s := range []string{"Hollow marks are indicative", "none where they set none", "Scope gpu: what else"} {
		if !strings.Contains(notes, s) {
			t.Errorf("%q is not in %q", s, f.Notes)
		}
	}
}

// A metric that one of the scopes lacks has no panel there.
func TestEnergyScopeWithoutAMetric(t *testing.T) {
	a, b := energies(128, 100), energies(512, 400)
	a.Batches[0].Scope = "system"
	a.Batches[0].Figures = map[string]*float64{"energy_j": a.Batches[0].J}
	f := drawEnergy(t, []analyze.EnergyCase{a, b}, Options{Y: []string{"energy_j", "j_per_output_token"}, Log: "y"})
	var titles []string
	for _, p := range f.Panels {
		titles = append(titles, p.Title)
	}
	if !slices.Equal(titles, []string{"Energy of a batch, scope system", "Energy of a batch, scope gpu", "Energy per output token, scope gpu"}) {
		t.Errorf("panels %q", titles)
	}
}

// One series a target and a kind of hit.
func TestEnergySeries(t *testing.T) {
	var cases []analyze.EnergyCase
	for i, engine := range []string{"a", "b"} {
		for _, hit := range []string{"none", "partial"} {
			for _, pp := range []int64{128, 512} {
				c := energies(pp, 100)
				c.Engine, c.TargetID, c.CacheMode, c.PrefixCacheHit = engine, int64(i), "prefix", hit
				cases = append(cases, c)
			}
		}
	}
	f := drawEnergy(t, cases, Options{})
	if !slices.Equal(f.Legend, []string{"a · no hit", "a · partial hit", "b · no hit", "b · partial hit"}) {
		t.Errorf("legend %q", f.Legend)
	}
}

func TestEnergyRefuses(t *testing.T) {
	ok := []analyze.EnergyCase{energies(128, 100), energies(512, 100)}
	off := []analyze.EnergyCase{energies(128, 1), energies(512, 1)}
	for i := range off {
		off[i].Batches[0] = analyze.EnergyBatch{NullReason: "off", Counted: true}
	}
	bad := []analyze.EnergyCase{energies(128, math.Inf(1)), energies(512, 100)}
	for _, c := range []struct {
		name  string
		cases []analyze.EnergyCase
		opt   Options
		want  string
	}{
		{"nothing", nil, Options{}, "no case was selected"},
		{"no sensors", off, Options{}, "no batch has j_per_output_token: 2 × no sensor was read; collect with --power auto on a machine where `tokwatt power --once` finds readings"},
		{"no batches", []analyze.EnergyCase{{Summary: ok[0].Summary}, {Summary: ok[1].Summary}}, Options{}, "nothing was measured"},
		{"a rate", ok, Options{Y: []string{"ttft_ms"}}, "ttft_ms is no figure of energy: take energy_j, avg_power_w, j_per_output_token"},
		{"no metric", ok, Options{Y: []string{"joules"}}, "no metric"},
		{"no axis", ok, Options{X: "tg"}, "the x axis of energy is pp, concurrency or nodes"},
		{"nothing varies", ok[:1], Options{}, "no case varies pp, concurrency or nodes"},
		{"infinite", bad, Options{}, "no place on an axis"},
		{"grouped by the axis", ok, Options{By: []string{"pp"}}, "cannot tell series apart"},
	} {
		if _, err := Energy(c.cases, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Where all marks are hollow the notes don't call whiskers bounds and no bounds.
func TestAllHollow(t *testing.T) {
	rows := matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 6)
	fig, err := Energy(withEnergy(rows, "system", 0.5, 1.6, true), Options{})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(fig.Notes, " ")
	if strings.Contains(notes, "the bounds that") || !strings.Contains(notes, "all are indicative") || !strings.Contains(notes, "whiskers are no bounds") {
		t.Errorf("notes %q", fig.Notes)
	}
}
