package plot

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/power"
)

func drawPower(t *testing.T, g *rig, opt PowerOptions) *Figure {
	t.Helper()
	f, err := Power(g.PowerSession, opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPowerOfAMac(t *testing.T) {
	g := mac([]int64{512, 2048}, 1).macSensors("studio", 0.25)
	f := drawPower(t, g, PowerOptions{})
	if len(f.Panels) != 1 || !slices.Equal(f.Legend, []string{"system", "gpu", "cpu"}) {
		t.Fatalf("%d panels, legend %q, want one with the widest scope first", len(f.Panels), f.Legend)
	}
	p := f.Panels[0]
	if p.Kind != Traces || p.Y.Label != "Power (W)" || p.Y.Min != 0 || p.X.Label != "Time since the session began (s)" || p.highest() > p.Y.Max {
		t.Errorf("axes %+v and %+v", p.X, p.Y)
	}
	b := g.Batches[0]
	want := []Band{
		{3, 13, BandIdle, false},
		{14, float64(*b.FirstNS) / 1e9, BandPrefill, true},
		{float64(*b.FirstNS) / 1e9, float64(b.EndNS) / 1e9, BandGeneration, true},
	}
	if len(p.Bands) != 7 || !slices.Equal(p.Bands[:3], want) || p.Bands[3].Kind != BandPrefill || p.Bands[3].Warmup {
		t.Errorf("bands %+v, want the quiet window, the warm-up's phases, and those of two batches", p.Bands)
	}
	if !slices.Equal(f.Bands, []BandKind{BandIdle, BandPrefill, BandGeneration, BandWarmup}) {
		t.Errorf("the legend tells %v", f.Bands)
	}
	if len(p.Lanes) != 1 || len(p.Lanes[0]) != 2 || p.Lanes[0][1].Text != "pp 2048" {
		t.Errorf("lanes %+v, want pp 512 and pp 2048", p.Lanes)
	}
	notes := strings.Join(f.Notes, " ")
	for _, s := range []string{"Steps (gpu, cpu): the mean between two readings of an energy counter.", "Joined points (system): readings of instants", "Read by ioreport."} {
		if !strings.Contains(notes, s) {
			t.Errorf("%q is not in the notes %q", s, f.Notes)
		}
	}
	if strings.Contains(notes, "interrupted") || strings.Contains(notes, "more readings") {
		t.Errorf("notes %q of what there is not", f.Notes)
	}
}

// The streams of a batch begin one after the other.
func TestPowerPhasesOfStreams(t *testing.T) {
	f := drawPower(t, cluster(), PowerOptions{Batch: 3})
	if !strings.HasSuffix(f.Title, " during batch 3") {
		t.Errorf("the title is %q", f.Title)
	}
	p := f.Panels[0]
	var kinds []BandKind
	for _, b := range p.Bands {
		kinds = append(kinds, b.Kind)
	}
	if !slices.Equal(kinds, []BandKind{BandPrefill, BandMixed, BandGeneration}) {
		t.Errorf("bands %+v", p.Bands)
	}
	g := cluster()
	g.Batches[2].FirstNS = nil
	if p := drawPower(t, g, PowerOptions{Batch: 3}).Panels[0]; len(p.Bands) != 1 || p.Bands[0].Kind != BandBatch {
		t.Errorf("bands %+v of a batch whose outputs nobody saw, want it whole", p.Bands)
	}
}

func TestPowerNodes(t *testing.T) {
	f := drawPower(t, cluster(), PowerOptions{})
	var titles, xs []string
	for _, p := range f.Panels {
		titles, xs = append(titles, p.Title), append(xs, p.X.Label)
		if p.X.Min != f.Panels[0].X.Min || p.X.Max != f.Panels[0].X.Max {
			t.Error("the panels have several axes of time")
		}
	}
	if !slices.Equal(titles, []string{"mac-studio-1", "mac-studio-2", "mac-studio-3", "mini"}) || xs[0] != "" || xs[3] == "" {
		t.Errorf("panels %q with %q", titles, xs)
	}
	if f.Panels[0].Y.Max == f.Panels[3].Y.Max || !slices.Contains(f.Notes, "Each node has an axis of power of its own.") {
		t.Errorf("a node of a tenth of the power shares the axis, or nothing says that it does not: %q", f.Notes)
	}
	g := cluster()
	g.Traces = g.Traces[:3]
	if f := drawPower(t, g, PowerOptions{}); f.Panels[0].Y.Max != f.Panels[2].Y.Max {
		t.Error("like nodes have unlike axes")
	}
	if f := drawPower(t, cluster(), PowerOptions{Node: "mini"}); len(f.Panels) != 1 || f.Title != "Power of mini while the batches ran" {
		t.Errorf("one node: %q, %d panels", f.Title, len(f.Panels))
	}
}

// Of two ways to know one power the better is drawn: a counter of energy.
func TestPowerPrefersCounters(t *testing.T) {
	g := mac([]int64{512}, 1)
	g.sense("studio", "nvidia", "gpu", power.Average, 1, 3, 0, stretch{})
	g.sense("studio", "nvidia", "gpu", power.Counter, 1, 1, 0, stretch{})
	f := drawPower(t, g, PowerOptions{})
	if top := f.Panels[0].highest(); len(f.Panels[0].Traces) != 1 || top > 60 || !strings.Contains(f.Notes[0], "energy counter") {
		t.Errorf("%d traces up to %v W: %q", len(f.Panels[0].Traces), top, f.Notes)
	}
}

func TestPowerGapsAreCounted(t *testing.T) {
	g := mac([]int64{512, 2048}, 3)
	g.sense("studio", "macmon", "gpu", power.Average, 1, 0.7, 1, stretch{31, 44})
	g.sense("studio", "macmon", "cpu", power.Average, 1, 0.1, 0, stretch{31, 40})
	f := drawPower(t, g, PowerOptions{})
	if want := "Lines are interrupted where there was no usable reading: once, for 12 s."; !slices.Contains(f.Notes, want) {
		t.Errorf("notes %q, want %q", f.Notes, want)
	}
	for _, tr := range f.Panels[0].Traces {
		if len(tr.Lines) != 2 || len(tr.Gaps) != 1 {
			t.Errorf("%s: %d lines and gaps %v", tr.Name, len(tr.Lines), tr.Gaps)
		}
	}
	bad := traceOf(t, "power", true, 5, -1, 7, math.NaN())
	bad.Segment, bad.Node, bad.Source = 1, "studio", "macmon"
	g.Traces = append(g.Traces[:1], bad)
	g.Traces[1].Scope = "dram"
	g.Traces = append(g.Traces, analyze.PowerTrace{Segment: 1, Node: "studio", Source: "macmon", Scope: "ane"})
	f = drawPower(t, g, PowerOptions{})
	if want := "2 readings could not be true and are left out. Without a usable reading: ane of studio."; !slices.Contains(f.Notes, want) || slices.Contains(f.Legend, "ane") {
		t.Errorf("notes %q and legend %q, want %q", f.Notes, f.Legend, want)
	}
}

func TestPowerResumed(t *testing.T) {
	f := drawPower(t, resumed(), PowerOptions{})
	p := f.Panels[0]
	if len(p.Cuts) != 1 || p.X.Label != "Time of the session, without the pause (s)" || p.X.Max > 100 {
		t.Errorf("cuts %v on an axis %q to %v", p.Cuts, p.X.Label, p.X.Max)
	}
	for _, tr := range p.Traces {
		for _, l := range tr.Lines {
			if l[0].T < p.Cuts[0] && last(l).T > p.Cuts[0] {
				t.Errorf("%s goes on through the pause", tr.Name)
			}
		}
	}
	if notes := strings.Join(f.Notes, " "); strings.Contains(notes, "interrupted") || !strings.Contains(notes, "resumed after 3.5 h") {
		t.Errorf("notes %q", f.Notes)
	}
}

// A session without batches, or whose clock stands still, is drawn too.
func TestPowerOfVeryLittle(t *testing.T) {
	g := newRig()
	tr := traceOf(t, "power", false, 5)
	tr.Segment, tr.Node, tr.Source = 1, "studio", "battery"
	g.Traces = []analyze.PowerTrace{tr}
	f := drawPower(t, g, PowerOptions{})
	if l := f.Panels[0].Traces[0].Lines; len(l) != 1 || len(l[0]) != 1 || f.Panels[0].X.Min >= 1 || f.Panels[0].X.Max <= 1 {
		t.Errorf("one reading: %v on %+v", l, f.Panels[0].X)
	}
	for _, format := range []Format{PNG, SVG, PDF} {
		if err := f.Write(io.Discard, format); err != nil {
			t.Error(err)
		}
	}
	g.Targets = nil
	drawPower(t, g, PowerOptions{})
}

func TestPowerRefuses(t *testing.T) {
	many := newRig()
	for i := range maxNodes + 1 {
		many.sense(string(rune('a'+i)), "exo", "system", power.Instant, 1, 1, 0, stretch{})
	}
	scopes := newRig()
	for i := range maxScopes + 1 {
		scopes.sense("a", "exo", string(rune('a'+i)), power.Instant, 1, 1, 0, stretch{})
	}
	silent := mac([]int64{512}, 1)
	mute := mac([]int64{512}, 1)
	mute.Traces = []analyze.PowerTrace{{Segment: 1, Node: "studio", Scope: "gpu"}}
	for _, c := range []struct {
		name string
		g    *rig
		opt  PowerOptions
		want string
	}{
		{"no sensors", silent, PowerOptions{}, "session 0199a000-0000 has no readings of power: collect with --power auto on a machine where `tokwatt power --once` finds some"},
		{"sensors that gave nothing", mute, PowerOptions{}, "has no readings of power"},
		{"no session", &rig{}, PowerOptions{}, "has no readings of power"},
		{"a scope that is not there", cluster(), PowerOptions{Scope: "wall"}, "it has node=mac-studio-1 source=exo scope=system, node=mac-studio-2"},
		{"a batch that is not there", cluster(), PowerOptions{Batch: 99}, "has no such batch"},
		{"too many nodes", many, PowerOptions{}, "9 nodes do not fit one figure, 8 do"},
		{"too many scopes", scopes, PowerOptions{}, "8 scopes cannot be told apart"},
	} {
		_, err := Power(c.g.PowerSession, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Names above the traces that find no room are numbers with a note.
func TestLanesWithoutRoom(t *testing.T) {
	g := targets()
	g.Targets[1].ModelID = "a-model-with-a-name-that-is-longer-than-its-time-is-wide-on-the-page"
	f := drawPower(t, g, PowerOptions{})
	if got := f.Panels[0].Lanes[0]; len(got) != 3 || got[1].Text != "2" {
		t.Errorf("lane %+v", got)
	}
	if n := last(f.Notes); !strings.HasPrefix(n, "Above: 1: mlx_lm · Qwen3-8B; 2: llama.cpp · a-model") {
		t.Errorf("note %q", n)
	}
}

// Many batches make few bands, and a day of readings a file of a known size.
func TestPowerOfADayIsSmall(t *testing.T) {
	f := drawPower(t, day(6*3600), PowerOptions{})
	if n := len(f.Panels[0].Bands); n > 100 {
		t.Errorf("%d bands", n)
	}
	var svg bytes.Buffer
	if err := f.Write(&svg, SVG); err != nil {
		t.Fatal(err)
	}
	if n := svg.Len(); n > 1<<20 {
		t.Errorf("an SVG of %d bytes", n)
	}
}
