package plot

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
)

func seriesNames(p Panel) []string {
	var list []string
	for _, s := range p.Series {
		list = append(list, s.Name)
	}
	return list
}

func labels(ticks []Tick) string {
	var list []string
	for _, t := range ticks {
		list = append(list, t.Label)
	}
	return strings.Join(list, " ")
}

func TestScalingSeries(t *testing.T) {
	two, six := servers()[:2], servers()
	same := []server{two[0], two[0]}
	same[1].version = "b7400"
	tests := []struct {
		name     string
		rows     []analyze.Summary
		opt      Options
		series   string
		ticks    string
		log      bool
		subtitle string
	}{
		{"one case a length", matrixOf(two[:1], []int64{128, 512, 4096}, []int64{1}, 3), Options{},
			"", "128 512 4k", true, "llama.cpp b7310 · Qwen3-8B · Q4_K_M · studio · tg 128 · concurrency 1 · cold cache"},
		{"the other number makes series", matrixOf(two[:1], []int64{128, 512}, []int64{16, 1, 4}, 3), Options{},
			"concurrency 1|concurrency 4|concurrency 16", "128 512", false, "llama.cpp b7310 · Qwen3-8B · Q4_K_M · studio · tg 128 · cold cache"},
		{"x on request", matrixOf(two[:1], []int64{512, 128}, []int64{1, 2, 4, 8}, 3), Options{X: "concurrency"},
			"pp 128|pp 512", "1 2 4 8", true, "llama.cpp b7310 · Qwen3-8B · Q4_K_M · studio · tg 128 · cold cache"},
		{"engines in order of appearance", matrixOf(two, []int64{100, 200, 300}, []int64{1}, 3), Options{},
			"llama.cpp · Q4_K_M|mlx_lm · 4bit", "100 200 300", false, "Qwen3-8B · studio · tg 128 · concurrency 1 · cold cache"},
		{"two versions of one engine", matrixOf(same, []int64{128, 512}, []int64{1}, 3), Options{},
			"llama.cpp b7310|llama.cpp b7400", "128 512", false, "Qwen3-8B · Q4_K_M · studio · tg 128 · concurrency 1 · cold cache"},
		{"by", matrixOf(six, []int64{128, 512}, []int64{1}, 3), Options{By: []string{"engine"}},
			"llama.cpp|mlx_lm|vllm|ollama|exo|sglang", "128 512", false, "Qwen3-8B · studio · tg 128 · concurrency 1 · cold cache"},
		{"log on request", matrixOf(two[:1], []int64{128, 512}, []int64{1}, 3), Options{Log: "x"},
			"", "128 512", true, "llama.cpp b7310 · Qwen3-8B · Q4_K_M · studio · tg 128 · concurrency 1 · cold cache"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fig, err := Scaling(tt.rows, tt.opt)
			if err != nil {
				t.Fatal(err)
			}
			if len(fig.Panels) != 2 || fig.Panels[0].Y.Label != "Prefill rate (tok/s)" || fig.Panels[1].Y.Label != "Generation rate (tok/s)" {
				t.Errorf("panels %+v", fig.Panels)
			}
			for _, p := range fig.Panels {
				if got := strings.Join(seriesNames(p), "|"); got != tt.series {
					t.Errorf("series %q, want %q", got, tt.series)
				}
				if got := labels(p.X.Ticks); got != tt.ticks || p.X.Log != tt.log {
					t.Errorf("ticks %q, log %v; want %q, %v", got, p.X.Log, tt.ticks, tt.log)
				}
				if p.Y.Min != 0 {
					t.Errorf("the y axis starts at %v", p.Y.Min)
				}
			}
			if fig.Subtitle != tt.subtitle {
				t.Errorf("subtitle %q, want %q", fig.Subtitle, tt.subtitle)
			}
		})
	}
}

// A point is the summary's own figures at its x.
func TestScalingPoints(t *testing.T) {
	rows := matrixOf(servers()[:1], []int64{512, 128}, []int64{1}, 7)
	fig, err := Scaling(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	pts := fig.Panels[1].Series[0].Points
	if len(pts) != 2 || pts[0].X != 128 || pts[1].X != 512 {
		t.Fatalf("points %+v, want them at 128 and 512", pts)
	}
	st := rows[1].Stats["generation_tps"]
	if p := pts[0]; p.Median != *st.Median || *p.Lo != *st.Lo || *p.Hi != *st.Hi || p.N != 7 || !slices.Equal(p.Raw, st.Points) {
		t.Errorf("point %+v, want the figures of %+v", p, st)
	}
}

// tg that goes along with pp keeps one line; a second tg at one pp splits it.
func TestLengthsAlongALine(t *testing.T) {
	rows := matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 3)
	rows[1].TG = 256
	fig, err := Scaling(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(fig.Panels[0].Series) != 1 || !slices.Contains(fig.Notes, "tg differs along the lines, from 128 to 256.") {
		t.Errorf("series %q, notes %q", seriesNames(fig.Panels[0]), fig.Notes)
	}
	other := rows[0]
	other.TG = 256
	fig, err = Scaling(append(rows, other), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := seriesNames(fig.Panels[0]); !slices.Equal(got, []string{"tg 128", "tg 256"}) {
		t.Errorf("series %q, want one for each tg", got)
	}
}

// The same case in two sessions makes two series, by their ids.
func TestSessionsApart(t *testing.T) {
	rows := matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 3)
	again := slices.Clone(rows)
	for i := range again {
		again[i].SessionID = "0199b111-2222-7000-8000-000000000001"
	}
	fig, err := Scaling(append(rows, again...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(fig.Legend, "|"); got != "session 0199a000-0000|session 0199b111-2222" {
		t.Errorf("legend %q", got)
	}
}

func set(rows []analyze.Summary, metric string, st analyze.Stat) []analyze.Summary {
	rows = slices.Clone(rows)
	stats := map[string]analyze.Stat{}
	for k, v := range rows[0].Stats {
		stats[k] = v
	}
	stats[metric] = st
	rows[0].Stats = stats
	return rows
}

func TestRefusals(t *testing.T) {
	one := matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 3)
	point := one[:1]
	own := slices.Clone(one)
	for i := range own {
		own[i].PP = nil
	}
	zero := slices.Clone(one)
	zero[0].Concurrency = 0
	many := make([]server, 15)
	for i := range many {
		many[i] = servers()[0]
		many[i].model = strings.Repeat("m", i+1)
	}
	nothing := slices.Clone(one)
	for i := range nothing {
		nothing[i].Stats = nil
	}
	tests := []struct {
		name  string
		build func([]analyze.Summary, Options) (*Figure, error)
		rows  []analyze.Summary
		opt   Options
		want  string
	}{
		{"no rows", Scaling, nil, Options{}, "no case was selected"},
		{"no rows", Latency, nil, Options{}, "no case was selected"},
		{"nothing varies", Scaling, point, Options{}, "no case varies pp, concurrency or nodes: all have pp 128 and concurrency 1; collect with"},
		{"own prompts alone", Scaling, own[:1], Options{}, "all have concurrency 1; collect with"},
		{"own prompts", Scaling, own, Options{X: "pp"}, "no case has a wanted pp"},
		{"unknown x", Scaling, one, Options{X: "tg"}, `pp, concurrency or nodes, not "tg"`},
		{"no nodes", Scaling, one, Options{X: "nodes"}, "no case has a placement on nodes"},
		{"unknown metric", Scaling, one, Options{Y: []string{"tps"}}, `no metric "tps"`},
		{"metric without values", Scaling, one, Options{Y: []string{"decode_tps"}}, "no case has decode_tps"},
		{"no metric at all", Scaling, nothing, Options{}, "no case has prompt_tps or generation_tps"},
		{"no metric at all", Latency, nothing, Options{}, "no case has ttft_ms or itl_p50_ms"},
		{"unknown key", Scaling, one, Options{By: []string{"color"}}, `by "color": the keys are engine,`},
		{"x as key", Scaling, one, Options{By: []string{"pp"}}, "pp is along the axis"},
		{"two on one point", Scaling, matrixOf(servers()[:2], []int64{1, 2}, []int64{1}, 3), Options{By: []string{"model_id"}},
			"two cases would fall on one point (Qwen3-8B · pp 1): they differ in engine and engine_version and quantization and target_id; add"},
		{"the same case twice", Scaling, append(slices.Clone(one), one...), Options{}, "the same case twice"},
		{"too many series", Scaling, matrixOf(many, []int64{1, 2}, []int64{1}, 3), Options{}, "15 series (model_id)"},
		{"unknown log", Scaling, one, Options{Log: "yes"}, `not "yes"`},
		{"NaN", Scaling, set(one, "prompt_tps", stat([]float64{math.NaN()})), Options{}, "prompt_tps of case 12801 of session 0199a000-0000 is NaN"},
		{"infinite batch", Scaling, set(one, "prompt_tps", stat([]float64{1, 2, math.Inf(1)})), Options{}, "is +Inf"},
		{"out of reach", Scaling, set(one, "prompt_tps", stat([]float64{1e200})), Options{}, "no axis reaches"},
		{"next to nothing", Scaling, set(one, "prompt_tps", stat([]float64{5e-324})), Options{}, "no axis reaches"},
		{"negative", Latency, set(one, "ttft_ms", stat([]float64{-1})), Options{}, "is -1, though"},
		{"zero on log y", Scaling, set(one, "prompt_tps", stat([]float64{0})), Options{Log: "y"}, "logarithmic"},
		{"zero on log time", Latency, set(one, "ttft_ms", stat([]float64{0})), Options{Log: "x"}, "logarithmic"},
		{"zero on log x", Scaling, zero, Options{X: "concurrency", Log: "x"}, "concurrency is 0 in one case"},
		{"latency over y", Latency, one, Options{Log: "y"}, "--log x"},
		{"latency with x", Latency, one, Options{X: "pp"}, "whose x axis is time"},
		{"too many lanes", Latency, matrixOf(servers(), []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, []int64{1}, 1), Options{}, "66 cases do not fit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fig, err := tt.build(tt.rows, tt.opt)
			if err == nil {
				t.Fatalf("drawn as %+v", fig)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want it to say %q", err, tt.want)
			}
		})
	}
}

// Zero is a place on a linear axis, for figures and for x.
func TestZeroIsDrawn(t *testing.T) {
	rows := set(matrixOf(servers()[:1], []int64{0, 512}, []int64{1}, 3), "prompt_tps", stat([]float64{0, 0}))
	fig, err := Scaling(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fig.Write(io.Discard, SVG); err != nil {
		t.Error(err)
	}
}

// Whatever the figures, a figure is refused or drawn: never a panic, never a
// coordinate that is no number.
func TestRefusedOrDrawn(t *testing.T) {
	odd := []float64{0, 1e-99, 1e-9, 0.3, 1, 20000, 1e12, 1e99, math.MaxFloat64, -1, math.NaN(), math.Inf(1)}
	drawn, refused := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		sane := r.IntN(2) == 0
		pick := func() float64 {
			if sane {
				return odd[r.IntN(8)] * (0.5 + r.Float64())
			}
			return odd[r.IntN(len(odd))]
		}
		rows := matrixOf(servers()[:1+r.IntN(3)], []int64{r.Int64N(5), 1 + r.Int64N(1<<20), 1 << 40}[:1+r.IntN(3)], []int64{1 + r.Int64N(3), 100}[:1+r.IntN(2)], 1+r.IntN(12))
		for i := range rows {
			for _, m := range []string{"prompt_tps", "generation_tps", "ttft_ms", "itl_p50_ms"} {
				if r.IntN(3) == 0 {
					values := make([]float64, 1+r.IntN(12))
					for k := range values {
						values[k] = pick()
					}
					rows[i].Stats[m] = stat(values)
				}
			}
		}
		opt := Options{Log: []string{"", "x", "none"}[r.IntN(3)]}
		for _, build := range []func([]analyze.Summary, Options) (*Figure, error){Scaling, Latency} {
			fig, err := build(rows, opt)
			if err != nil {
				refused++
				continue
			}
			drawn++
			var buf bytes.Buffer
			if err := fig.Write(&buf, SVG); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			_, marks, _ := strings.Cut(buf.String(), "</style>")
			if strings.Contains(marks, "NaN") || strings.Contains(marks, "Inf") {
				t.Fatalf("seed %d: a coordinate is no number", seed)
			}
		}
	}
	if drawn < 50 || refused < 50 {
		t.Errorf("%d drawn and %d refused: the test has lost one side", drawn, refused)
	}
}

func TestNotes(t *testing.T) {
	few := matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 3)
	many := matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 8)
	mixed := []analyze.Summary{few[0], many[1]}
	lost := slices.Clone(many)
	lost[0].NFailed, lost[1].NInvalid = 3, 2
	own := append(slices.Clone(many), many[0])
	own[2].PP, own[2].PromptKind = nil, "own"
	tests := []struct {
		name string
		rows []analyze.Summary
		want []string
	}{
		{"no interval", few, []string{"Median of 3 batches per point, single batches in faint dots. No whiskers: an interval of the median needs 6 batches."}},
		{"all intervals", many, []string{"Median of 8 batches per point, single batches in faint dots. Whiskers: 95 % interval of the median over batches, hidden where shorter than a mark."}},
		{"some", mixed, []string{"Median of 3–8 batches per point, single batches in faint dots. Whiskers: 95 % interval of the median over batches, hidden where shorter than a mark; points without whiskers: fewer than 6 batches."}},
		{"losses", lost, []string{"Median of 8 batches per point, single batches in faint dots. Whiskers: 95 % interval of the median over batches, hidden where shorter than a mark.",
			"Requests that are not in the figures: 3 failed, 2 invalid."}},
		{"a metric missing", set(many, "generation_tps", analyze.Stat{}), []string{"Median of 8 batches per point, single batches in faint dots. Whiskers: 95 % interval of the median over batches, hidden where shorter than a mark.",
			"1 case of 2 without a figure: not in “Generation rate of a request”."}},
		{"no pp", own, []string{"Median of 8 batches per point, single batches in faint dots. Whiskers: 95 % interval of the median over batches, hidden where shorter than a mark.",
			"1 case without pp, not drawn."}},
	}
	for _, tt := range tests {
		fig, err := Scaling(tt.rows, Options{})
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if !slices.Equal(fig.Notes, tt.want) {
			t.Errorf("%s: notes %q, want %q", tt.name, fig.Notes, tt.want)
		}
	}
}

// A case without any figure is told in the notes, not in the legend.
func TestFailedCasesAreNotInTheLegend(t *testing.T) {
	rows := matrixOf(servers()[:2], []int64{128, 512}, []int64{1}, 6)
	for i := range rows {
		if rows[i].Engine == rows[0].Engine && rows[i].ModelID == rows[0].ModelID {
			continue
		}
		rows[i].Stats, rows[i].NOK, rows[i].NFailed = nil, 0, 6
	}
	for name, draw := range map[string]func([]analyze.Summary, Options) (*Figure, error){"scaling": Scaling, "latency": Latency} {
		fig, err := draw(rows, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(fig.Legend) > 0 {
			t.Errorf("%s: legend %q for one series", name, fig.Legend)
		}
		if notes := strings.Join(fig.Notes, " "); !strings.Contains(notes, "failed") {
			t.Errorf("%s: the notes do not tell of the failures: %s", name, notes)
		}
	}
}

// A series looks the same in a figure where those before it have nothing to show.
func TestSeriesKeepTheirLooks(t *testing.T) {
	rows := matrixOf(servers()[:3], []int64{128, 512}, []int64{1}, 6)
	whole, err := Scaling(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	cases := withEnergy(rows, "gpu", 0.9, 1.1, false)
	for i := range cases[:2] { // the first engine
		cases[i].Batches = nil
	}
	energy, err := Energy(cases, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := whole.Panels[0].Series[1:], energy.Panels[0].Series
	for i := range want {
		if len(got) != len(want) || got[i].Name != want[i].Name || got[i].Style != want[i].Style || energy.Legend[got[i].Style] != whole.Legend[want[i].Style] {
			t.Fatalf("energy has %+v with the legend %q, scaling %+v with %q", got, energy.Legend, want, whole.Legend)
		}
	}
	if n := len(energy.seriesEntries(light())); n != len(got) {
		t.Errorf("the legend tells %d of %d series", n, len(got))
	}
}

// Marks that are not at their own place are told of.
func TestMovedMarks(t *testing.T) {
	apart := matrixOf(servers()[1:3], []int64{128, 512}, []int64{1}, 6)
	alike := matrixOf([]server{servers()[0], servers()[0]}, []int64{128, 512}, []int64{1}, 6)
	for i := range alike[2:] {
		alike[2+i].Engine, alike[2+i].Stats = "other", alike[i].Stats
	}
	for name, tt := range map[string]struct {
		rows []analyze.Summary
		want bool
	}{"apart": {apart, false}, "alike": {alike, true}} {
		fig, err := Scaling(tt.rows, Options{Y: []string{"prompt_tps"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fig.Notes[0], "stand side by side"); got != tt.want {
			t.Errorf("%s: %q", name, fig.Notes[0])
		}
	}
}

// What is asked to tell the series apart is still named where there is one.
func TestTheOnlySeriesIsNamed(t *testing.T) {
	rows := matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 6)
	for name, draw := range map[string]func([]analyze.Summary, Options) (*Figure, error){"scaling": Scaling, "latency": Latency} {
		fig, err := draw(rows, Options{By: []string{"model_id"}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(fig.Subtitle, rows[0].ModelID) {
			t.Errorf("%s: subtitle %q without %s", name, fig.Subtitle, rows[0].ModelID)
		}
	}
}
