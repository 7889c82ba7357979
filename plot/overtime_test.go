package plot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
)

func laneTexts(lane []Label) string {
	var list []string
	for _, l := range lane {
		list = append(list, l.Text)
	}
	return strings.Join(list, "|")
}

// A history has a point a session at its start, and the versions over the time
// they were in use.
func TestHistoryMarksVersions(t *testing.T) {
	rows, sessions := historyOf(servers()[:1], 10, []int64{512}, 48*time.Hour)
	fig, err := History(rows, slices.Concat(sessions[5:], sessions[:5]), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := fig.Panels[0]
	if len(p.Series) != 1 || len(p.Series[0].Points) != 10 || p.Series[0].Points[3].X != seconds(sessions[3].StartedAt) {
		t.Errorf("series %+v", p.Series)
	}
	for i, want := range []string{"tokwatt 0.1.0|tokwatt 0.2.0|tokwatt 0.3.0", "llama.cpp 1.0.60|llama.cpp 1.0.61|llama.cpp 1.0.62", "macOS 26.0|macOS 26.1"} {
		if got := laneTexts(p.Lanes[i]); got != want {
			t.Errorf("lane %d: %q, want %q", i, got, want)
		}
	}
	at := seconds(sessions[5].StartedAt) // of macOS 26.1
	if !slices.Contains(p.Changes, at) || p.Lanes[2][1].From != at || p.Lanes[2][0].To != at {
		t.Errorf("the system changed at %v, drawn at %v, changes %v", at, p.Lanes[2], p.Changes)
	}
	if p.Y.Min == 0 || !slices.Contains(fig.Notes, "The axis does not start at 0.") {
		t.Errorf("y from %v without a note: %q", p.Y.Min, fig.Notes)
	}
	for i := range sessions {
		sessions[i].Tool, sessions[i].OS = "1.0", ""
		rows[i].EngineVersion = "b1"
	}
	fig, err = History(rows, sessions, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := fig.Panels[0]; p.Lanes != nil || p.Changes != nil || !slices.Contains(fig.Notes, "In all sessions: tokwatt 1.0, llama.cpp b1.") {
		t.Errorf("nothing changed, and there are %v and %v, notes %q", p.Lanes, p.Changes, fig.Notes)
	}
}

// What changed and has no lane is told with its days.
func TestHistoryTellsOfChangesWithoutALane(t *testing.T) {
	rows, sessions := historyOf(servers(), 40, []int64{512}, 9*24*time.Hour, "studio", "mini")
	fig, err := History(rows, sessions, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(fig.Panels[0].Lanes); n != maxVersionLanes {
		t.Errorf("%d lanes", n)
	}
	at := slices.IndexFunc(fig.Notes, func(n string) bool { return strings.HasPrefix(n, "Changed as well") })
	want := "the system of mini: macOS 26.0, macOS 26.1 from "
	for _, s := range sessions {
		if s.Host == "mini" && s.OS == "macOS 26.1" {
			want += s.StartedAt.Format("2 Jan 2006")
			break
		}
	}
	if at < 0 || !strings.Contains(fig.Notes[at], want) || !strings.Contains(fig.Notes[at], "sglang: ") {
		t.Errorf("notes %q, want %q", fig.Notes, want)
	}
}

func TestHistoryRefuses(t *testing.T) {
	rows, sessions := historyOf(servers()[:1], 3, []int64{512}, time.Hour)
	twice := append(slices.Clone(rows), rows[0])
	twice[3].EngineVersion, twice[3].TargetID = "other", 1
	for _, c := range []struct {
		name     string
		rows     []analyze.Summary
		sessions []analyze.SessionVersions
		opt      Options
		want     string
	}{
		{"one session", rows[:1], sessions, Options{}, "a history needs two sessions, and only 01990000-0000"},
		{"a session without a start", rows, sessions[:2], Options{}, "session 01990002-0000 has no start"},
		{"x", rows, sessions, Options{X: "pp"}, "--x pp does not go with history"},
		{"log x", rows, sessions, Options{Log: "x"}, "say --log y"},
		{"two versions in a session", twice, sessions, Options{}, "two versions of llama.cpp"},
		{"nothing", nil, nil, Options{}, "no case was selected"},
	} {
		if _, err := History(c.rows, c.sessions, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Ticks of dates are inside the axis, at round times, and there are some.
func TestDateAxis(t *testing.T) {
	from := time.Date(2025, 11, 28, 9, 41, 0, 0, time.UTC)
	for span, want := range map[time.Duration]string{
		0:                     "09:40:50 09:41:00 09:41:10",
		40 * time.Second:      "09:40:50 09:41:00 09:41:10 09:41:20 09:41:30 09:41:40 09:41:50",
		5 * time.Minute:       "09:41 09:42 09:43 09:44 09:45 09:46",
		2 * time.Hour:         "10:00 10:30 11:00 11:30",
		30 * time.Hour:        "28 Nov 12:00 28 Nov 18:00 29 Nov 00:00 29 Nov 06:00 29 Nov 12:00",
		5 * 24 * time.Hour:    "29 Nov 30 Nov 1 Dec 2 Dec 3 Dec",
		30 * 24 * time.Hour:   "1 Dec 8 Dec 15 Dec 22 Dec 29 Dec",
		200 * 24 * time.Hour:  "Dec 2025 Jan 2026 Feb 2026 Mar 2026 Apr 2026 May 2026 Jun 2026",
		1500 * 24 * time.Hour: "2026 2027 2028 2029 2030",
	} {
		a := dateAxis(from, from.Add(span), 20)
		if got := labels(a.Ticks); got != want {
			t.Errorf("%v: %q, want %q", span, got, want)
		}
		for _, tick := range a.Ticks {
			if tick.Value < a.Min || tick.Value > a.Max {
				t.Errorf("%v: tick %q is outside", span, tick.Label)
			}
		}
	}
}

// Gaps are those between outputs; the long ones are stalls in both panels.
func TestITL(t *testing.T) {
	b := analyze.StreamBatch{SessionID: "0199a000-0000-7000-8000-000000000001", Engine: "exo", Concurrency: 2, BatchID: 3}
	for i := range 2 {
		s := analyze.Stream{RequestID: int64(i + 1), Index: int64(i), Status: "ok", StartNS: int64(i) * 1e6, EndNS: 900e6}
		for _, ms := range []int64{100, 110, 120, 130, 330, 340} {
			s.Arrivals = append(s.Arrivals, analyze.Arrival{NS: s.StartNS + ms*1e6})
		}
		b.Streams = append(b.Streams, s)
	}
	fig, err := ITL(b)
	if err != nil {
		t.Fatal(err)
	}
	lanes, gaps := fig.Panels[0], fig.Panels[1]
	if l := lanes.Streams[1]; len(lanes.Streams) != 2 || l.From != 0.001 || l.First != 0.101 || len(l.Arrivals) != 6 || len(l.Stalls) != 1 || l.Stalls[0] != (Gap{0.131, 0.331}) {
		t.Errorf("lanes %+v", lanes.Streams)
	}
	if len(gaps.Dots) != 10 || gaps.Dots[3] != (Dot{0.33, 200, true}) || gaps.Dots[0] != (Dot{0.11, 10, false}) || !slices.Equal(gaps.Levels, []float64{10}) || !gaps.Y.Log {
		t.Errorf("gaps %+v, levels %v", gaps.Dots, gaps.Levels)
	}
	if want := "Stalls are gaps over 50.0 ms (5 times the median, at least 20 ms): 2 of 10, the longest 200 ms, in stream 1."; !slices.Contains(fig.Notes, want) {
		t.Errorf("notes %q, want %q", fig.Notes, want)
	}
	if !slices.Equal(fig.Legend, []string{"output arrives", "stall"}) {
		t.Errorf("legend %q", fig.Legend)
	}
	b.Streams[0].Arrivals, b.Streams[1].Arrivals = b.Streams[0].Arrivals[:1], nil
	if _, err := ITL(b); err == nil || !strings.Contains(err.Error(), "no answer that came in parts") {
		t.Errorf("without gaps: %v", err)
	}
}

// A row says what the set says: the change where there are enough runs, words
// where there are not.
func TestCompareRows(t *testing.T) {
	set := pairsOf([]int64{128, 512, 2048}, 8, 1.2, "generation_tps")
	few := pairsOf([]int64{128, 512, 2048}, 3, 1.2, "ttft_ms")
	set.Pairs = append(set.Pairs, few.Pairs...)
	set.OnlyA = []string{"pp 4096"}
	fig, err := Compare(set, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if len(fig.Panels) != 2 || fig.Panels[0].Title != "Generation rate of a request, higher is better" || fig.Panels[1].Title != "Time to first token, lower is better" {
		t.Fatalf("panels %+v", fig.Panels)
	}
	for i, r := range fig.Panels[0].Rows {
		c := set.Pairs[i]
		if *r.Ratio != 1+*c.Change || *r.Lo != 1+c.Interval.Lo || *r.Hi != 1+c.Interval.Hi || r.Verdict != c.Verdict || r.Cells[2] != "8" || r.Cells[3] != percent(*c.Change) {
			t.Errorf("row %+v of %+v", r, c)
		}
	}
	if r := fig.Panels[1].Rows[0]; r.Ratio != nil || r.Lo != nil || r.Cells[3] != "not enough runs" || r.Cells[4] != "" {
		t.Errorf("with 3 batches a side: %+v", r)
	}
	if !slices.Contains(fig.Verdicts, analyze.VerdictBetter) || !slices.Contains(fig.Verdicts, analyze.VerdictWorse) {
		t.Errorf("verdicts %q", fig.Verdicts)
	}
	for _, want := range []string{"A test needs 4 batches a side.", "1 case of A alone, not drawn."} {
		if !slices.Contains(fig.Notes, want) {
			t.Errorf("notes %q lack %q", fig.Notes, want)
		}
	}
	if _, err := Compare(analyze.CompareSet{}, "a", "b"); err == nil {
		t.Error("nothing to compare was drawn")
	}
	if _, err := Compare(pairsOf(make([]int64, 61), 4, 1, "ttft_ms"), "a", "b"); err == nil || !strings.Contains(err.Error(), "61 comparisons do not fit") {
		t.Errorf("too many: %v", err)
	}
}

// One long interval does not press the others together: the axis ends, and an
// arrowhead and a footnote say that the interval goes on.
func TestCompareLongInterval(t *testing.T) {
	set := pairsOf([]int64{128, 512, 2048}, 6, 1.04, "generation_tps")
	fig, err := Compare(set, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	const note = "Arrowheads: intervals that go on beyond the axis."
	if slices.Contains(fig.Notes, note) {
		t.Errorf("axis from %v to %v, and notes %q", fig.Panels[0].X.Min, fig.Panels[0].X.Max, fig.Notes)
	}
	set.Pairs[1].Interval.Lo, set.Pairs[1].Interval.Hi = -0.999, 0.1
	if fig, err = Compare(set, "a", "b"); err != nil {
		t.Fatal(err)
	}
	x := fig.Panels[0].X
	if !slices.Contains(fig.Notes, note) || x.Min < 0.1 || x.Min > 0.25 {
		t.Errorf("axis from %v to %v, and notes %q", x.Min, x.Max, fig.Notes)
	}
	for _, r := range fig.Panels[0].Rows {
		if *r.Ratio < x.Min || *r.Ratio > x.Max {
			t.Errorf("the mark at %v is not on the axis", *r.Ratio)
		}
	}
}

// A figure's readers know no columns: warnings are sentences about things.
func TestWarningNotes(t *testing.T) {
	for warning, want := range map[string]string{
		"prompt_tps_source differs: A engine, B client":              "Who timed the prefill rate differs: A engine, B client.",
		"host differs: A a, B b (in 2 of 3 cases)":                   "Host differs: A a, B b (in 2 of 3 cases).",
		"some_thing varies within both sides: x_y, z":                "The some thing varies within both sides: x_y, z.",
		"A has no itl_p50_ms: not compared":                          "A has no figure for “Inter-token latency (median gap of a request)”: not compared.",
		"B: 3 requests with client_saturated: this machine was busy": "B: 3 requests: this machine was busy.",
		"A: 1 request with throttled: heat slowed it":                "A: 1 request: heat slowed it.",
		"requests that failed or are invalid: A 0 of 18, B 2 of 20":  "Requests that failed or are invalid: A 0 of 18, B 2 of 20.",
	} {
		if got := warningNotes([]string{warning}); len(got) != 1 || got[0] != want {
			t.Errorf("%q became %q, want %q", warning, got, want)
		}
	}
}

// Marks stand at their own x unless they would cover each other there.
func TestMarksKeepTheirPlace(t *testing.T) {
	rows := matrixOf(servers()[:2], []int64{128, 512}, []int64{1}, 3)
	for i := range rows {
		for name, v := range map[string]float64{"prompt_tps": 100, "generation_tps": 10} {
			if i == 0 { // llama.cpp at 128 is far from the other
				v *= 3
			}
			rows[i].Stats[name] = stat([]float64{v, v, v})
		}
	}
	fig, err := Scaling(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := placesOf(fig.Panels[0])
	if at[0][0].X != at[1][0].X {
		t.Errorf("marks far apart are moved: %v and %v", at[0][0], at[1][0])
	}
	if at[0][1].X >= at[1][1].X {
		t.Errorf("equal marks cover each other: %v and %v", at[0][1], at[1][1])
	}
}

// Two placements that differ in their machines alone are called by them, and
// nodes may be the x axis.
func TestPlacements(t *testing.T) {
	rows := matrixOf(servers()[4:5], []int64{128, 512}, []int64{1}, 3)
	other := slices.Clone(rows)
	for i := range rows {
		rows[i].Nodes, other[i].Nodes, other[i].TargetID = []string{"mac-1"}, []string{"mac-2"}, 2
	}
	fig, err := Scaling(append(rows, other...), Options{})
	if err != nil || !slices.Equal(fig.Legend, []string{"mac-1", "mac-2"}) {
		t.Errorf("legend %q, %v", fig.Legend, err)
	}
	for i := range other {
		other[i].Nodes = []string{"mac-1", "mac-2"}
	}
	fig, err = Scaling(append(rows, other...), Options{X: "nodes"})
	if err != nil || fig.Panels[0].X.Label != "Nodes" || labels(fig.Panels[0].X.Ticks) != "1 2" || !slices.Equal(fig.Legend, []string{"pp 128", "pp 512"}) {
		t.Errorf("%+v, %v", fig, err)
	}
}

// TestUndatedSessions: who does not say when it was measured has no place in a
// history, and is counted.
func TestUndatedSessions(t *testing.T) {
	rows, sessions := historyOf(servers()[:1], 4, []int64{512}, 24*time.Hour)
	sessions[1].StartedAt, sessions[2].StartedAt = time.Time{}, time.Time{}
	fig, err := History(rows, sessions, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(fig.Panels[0].Series[0].Points); n != 2 || !strings.Contains(fig.Title, "2 sessions") {
		t.Errorf("%d points under %q, want the two sessions with a start", n, fig.Title)
	}
	if want := "2 sessions left out: the imported files do not say when they were measured."; !slices.Contains(fig.Notes, want) {
		t.Errorf("notes %q lack %q", fig.Notes, want)
	}
	for i := range sessions {
		sessions[i].StartedAt = time.Time{}
	}
	if _, err := History(rows, sessions, Options{}); err == nil || !strings.Contains(err.Error(), "no session chosen has a start that is known") {
		t.Errorf("of none: %v", err)
	}
}

// TestToolsOfImportedSessions: a session of another tool is not one of tokwatt.
func TestToolsOfImportedSessions(t *testing.T) {
	rows, sessions := historyOf(servers()[:1], 4, []int64{512}, 24*time.Hour)
	for i := range sessions {
		sessions[i].Tool = "0.4.0"
		if i > 1 {
			sessions[i].Tool = "llama-bench b7310"
			rows[i].Keys = map[string]string{"import_tool": "llama-bench"}
		}
	}
	fig, err := History(rows, sessions, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range fig.Panels[0].Lanes[0] {
		got = append(got, l.Text)
	}
	if strings.Join(got, "|") != "tokwatt 0.4.0|llama-bench b7310" {
		t.Errorf("what measured: %q", got)
	}
}
