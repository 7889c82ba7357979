package plot

import (
	"strings"
	"testing"

	"tokwatt/analyze"
)

// differingIn are cases of one session that nothing but set tells apart.
func differingIn(n int, set func(i int, s *analyze.Summary)) []analyze.Summary {
	rows := matrixOf(servers()[:1], []int64{32}, []int64{1}, 3)
	for len(rows) < n {
		rows = append(rows, rows[0])
	}
	for i := range rows {
		rows[i].CaseID, rows[i].Keys = int64(i+1), map[string]string{}
		set(i, &rows[i])
	}
	return rows
}

func ownPrompts(i int, s *analyze.Summary) {
	s.PP, s.PromptKind, s.Keys["prompt_hash"] = nil, "own", []string{"edde0f63aa", "106a3f0caa"}[i%2]
}

func depths(i int, s *analyze.Summary) { s.Keys["depth"] = []string{"", "64"}[i] }

func lengths(i int, s *analyze.Summary) { s.TG = []int64{0, 8}[i] }

// TestCasesThatDifferInOneThing: of prompts of one's own, depths and lengths of
// answers each is a series, without a word in --by and with it.
func TestCasesThatDifferInOneThing(t *testing.T) {
	for _, c := range []struct {
		by   string
		set  func(int, *analyze.Summary)
		want string
	}{
		{"prompt", ownPrompts, "own #1|own #2"},
		{"depth", depths, "not stated|depth 64"},
		{"tg", lengths, "tg 0|tg 8"},
	} {
		for _, by := range [][]string{nil, {c.by}} {
			rows := differingIn(2, c.set)
			fig, err := Scaling(rows, Options{By: by})
			if err != nil {
				t.Errorf("scaling by %v: %v", by, err)
				continue
			}
			if got := strings.Join(fig.Legend, "|"); got != c.want {
				t.Errorf("scaling by %s: legend %q, want %q", c.by, got, c.want)
			}
			if fig, err = Latency(rows, Options{By: by}); err != nil || len(pointsOf(fig.Panels[0])) != 2 {
				t.Errorf("latency by %s: %v, want a lane each", c.by, err)
			}
			if _, named := rows[0].Keys["prompt"]; named {
				t.Error("the caller's rows were changed")
			}
		}
	}
}

func pointsOf(p Panel) (all []Point) {
	for _, s := range p.Series {
		all = append(all, s.Points...)
	}
	return all
}

// TestOnePromptIsOneLine: a prompt is one series over all its cases, named by the
// first of them.
func TestOnePromptIsOneLine(t *testing.T) {
	rows := differingIn(4, func(i int, s *analyze.Summary) {
		ownPrompts(i/2, s)
		s.Concurrency = []int64{1, 4}[i%2]
	})
	fig, err := Scaling(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(fig.Legend, "|"); got != "own #1|own #3" || len(fig.Panels[0].Series[0].Points) != 2 {
		t.Errorf("legend %q, %d points", got, len(fig.Panels[0].Series[0].Points))
	}
}

// TestOnlyDrawnLengthsAreOnTheAxis: a length that no drawn rate is of has no tick.
func TestOnlyDrawnLengthsAreOnTheAxis(t *testing.T) {
	rows := matrixOf(servers()[:1], []int64{16, 32, 512}, []int64{1}, 3)
	rows[2].Stats = map[string]analyze.Stat{"mixed_tps": stat([]float64{9, 10, 11})}
	fig, err := Scaling(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := labels(fig.Panels[0].X.Ticks); got != "16 32" {
		t.Errorf("ticks %q", got)
	}
	fig, err = Scaling([]analyze.Summary{rows[0], rows[2]}, Options{})
	if err == nil {
		t.Errorf("one drawn length: drawn over %s", fig.Panels[0].X.Label)
	}
}
