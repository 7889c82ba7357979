package analyze_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
)

// The estimate and the interval's ends are the order statistics of all ratios,
// written out; the rank is counted over all orders of the two sides.
func TestRelativeChangeAgainstAllPairs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 80 {
		n, m := 4+rnd.IntN(5), 4+rnd.IntN(5)
		a, b := drawn(rnd, n, i), drawn(rnd, m, i)
		change, interval := analyze.RelativeChange(a, b)
		var ratios []float64
		for _, x := range a {
			for _, y := range b {
				ratios = append(ratios, math.Log(y)-math.Log(x))
			}
		}
		slices.Sort(ratios)
		s, _ := analyze.NewSample(ratios)
		if want := math.Expm1(*s.Median()); math.Abs(*change-want) > 1e-14*(1+math.Abs(want)) {
			t.Fatalf("change of %v to %v is %v, want %v", a, b, *change, want)
		}
		k := 0
		for bruteP(n, m, float64(k)) <= 0.05 {
			k++
		}
		if interval.Lo != math.Expm1(ratios[k-1]) || interval.Hi != math.Expm1(ratios[n*m-k]) {
			t.Fatalf("interval of %v to %v is %+v, want ranks %d and %d", a, b, *interval, k, n*m+1-k)
		}
		if want := 1 - bruteP(n, m, float64(k-1)); math.Abs(interval.Coverage-want) > 1e-13 || interval.Coverage < 0.95 {
			t.Fatalf("coverage with %d and %d is %v, want %v", n, m, interval.Coverage, want)
		}
	}
}

// drawn are positive numbers near 50; every third time with ties, every fifth
// time far from another.
func drawn(rnd *rand.Rand, n, i int) []float64 {
	xs := make([]float64, n)
	for k := range xs {
		switch xs[k] = 50 + 5*rnd.NormFloat64(); {
		case i%3 == 0:
			xs[k] = math.Round(xs[k] / 4)
		case i%5 == 0:
			xs[k] = math.Exp(100 * rnd.NormFloat64())
		}
	}
	return xs
}

// An interval and a test over the same ranks agree: it holds no change at all
// exactly where p is over 5 %.
func TestIntervalAgreesWithTest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 2000 {
		a, b := make([]float64, 4+rnd.IntN(12)), make([]float64, 4+rnd.IntN(12))
		for i := range a {
			a[i] = 50 + rnd.Float64()
		}
		for i := range b {
			b[i] = 50.4 + rnd.Float64()
		}
		_, iv := analyze.RelativeChange(a, b)
		differs := *analyze.MannWhitney(a, b).P <= 0.05
		if differs == (iv.Lo <= 0 && iv.Hi >= 0) {
			t.Fatalf("p %v, interval %+v of %v and %v", *analyze.MannWhitney(a, b).P, *iv, a, b)
		}
		if differs {
			apart++
		}
	}
	if apart < 200 || apart > 1800 {
		t.Errorf("%d of 2000 differ: the test shows less than it should", apart)
	}
}

// Over 10,000 pairs the rank is the normal approximation's, which the exact one
// just below is next to. Reference ranks are scipy's: the highest k with
// norm.cdf((k - 0.5 - n m / 2) / sd) at most 0.025.
func TestRelativeChangeOfMany(t *testing.T) {
	for _, c := range []struct{ n, m, k int }{{100, 101, 4242}, {150, 150, 9778}, {400, 30, 4713}} {
		var a, b []float64
		for i := range c.n {
			a = append(a, math.Exp2(float64(i)/1024))
		}
		for i := range c.m {
			b = append(b, math.Exp2(float64(i)/1024))
		}
		_, iv := analyze.RelativeChange(a, b)
		var shifts []float64
		for _, x := range a {
			for _, y := range b {
				shifts = append(shifts, math.Log(y)-math.Log(x))
			}
		}
		slices.Sort(shifts)
		if iv.Lo != math.Expm1(shifts[c.k-1]) || iv.Hi != math.Expm1(shifts[len(shifts)-c.k]) || iv.Coverage < 0.95 || iv.Coverage > 0.9502 {
			t.Errorf("%d and %d: %+v, rank %d wanted", c.n, c.m, *iv, c.k)
		}
	}
}

func TestNoChangeWithoutEnough(t *testing.T) {
	four := []float64{1, 2, 3, 4}
	for name, sides := range map[string][2][]float64{
		"three": {four, {1, 2, 3}}, "none": {nil, four}, "nought": {four, {0, 1, 2, 3}}, "below": {{-1, 1, 2, 3}, four}, "NaN": {four, {1, 2, 3, math.NaN()}},
	} {
		if change, interval := analyze.RelativeChange(sides[0], sides[1]); change != nil || interval != nil {
			t.Errorf("%s: %v", name, *change)
		}
	}
}

// row is a summary with its keys, and six batches of a rate each.
func row(session string, id int64, rate float64, keys string) analyze.Summary {
	s := analyze.Summary{SessionID: session, CaseID: id, NOK: 6, Keys: map[string]string{
		"session_id": session, "host": "h", "engine": "exo", "model_id": "m", "pp": "512", "tg": "128", "concurrency": "1",
		"cache_mode": "cold", "prompt_kind": "sized", "streaming": "true", "engine_version": "1", "tool_version": "1"}}
	for pair := range strings.FieldsSeq(keys) {
		key, value, _ := strings.Cut(pair, "=")
		s.Keys[key] = value
	}
	points := make([]float64, 6)
	for i := range points {
		points[i] = rate * (1 + float64(i)/100)
	}
	s.Stats = map[string]analyze.Stat{"generation_tps": {N: 6, Points: points}}
	return s
}

func side(by string, rows ...analyze.Summary) analyze.Selected {
	conditions, err := analyze.ParseConditions(by)
	if by != "" && err != nil {
		panic(err)
	}
	return analyze.Selected{By: conditions, Rows: rows}
}

var rate = slices.DeleteFunc(analyze.Metrics(), func(m analyze.Metric) bool { return m.Name != "generation_tps" })

// TestCompare has a line for each way in which selections match.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name     string
		a, b     analyze.Selected
		pairs    string // case: A to B, verdict
		only     string // of A / of B
		warnings string
	}{
		{"two sessions of one case", side("", row("1", 1, 50, "")), side("", row("2", 1, 60, "")), "the only case: 51.25 to 61.5 better", " / ", ""},
		{"cases by length", side("", row("1", 1, 50, ""), row("1", 2, 40, "pp=1024")), side("", row("2", 1, 40, "pp=1024"), row("2", 2, 55, "pp=2048")),
			"the only case: 41 to 41 same", "pp 512 / pp 2048", ""},
		{"engines that were asked for", side("engine=exo", row("1", 1, 50, ""), row("1", 2, 45, "concurrency=4")),
			side("engine=ollama", row("2", 1, 40, "engine=ollama engine_version=2"), row("2", 2, 30, "engine=ollama engine_version=2 concurrency=4")),
			"concurrency 1: 51.25 to 41 worse; concurrency 4: 46.125 to 30.75 worse", " / ", ""},
		{"engines in both", side("", row("1", 1, 50, ""), row("1", 2, 40, "engine=ollama")), side("", row("2", 1, 50, "engine=ollama"), row("2", 2, 60, "")),
			"exo: 51.25 to 61.5 better; ollama: 41 to 51.25 better", " / ", ""},
		{"models by their labels", side("", row("1", 1, 50, "model_id=m1 label=big"), row("3", 1, 20, "model_id=n1 label=small")),
			side("", row("2", 1, 50, "model_id=n2 label=small"), row("4", 1, 60, "model_id=m2 label=big")),
			"big: 51.25 to 61.5 better; small: 20.5 to 51.25 better", " / ", "one model by its label big, small: A m1, n1, B m2, n2"},
		{"by concurrency", side("concurrency=1", row("1", 1, 50, "")), side("concurrency=4", row("1", 2, 30, "concurrency=4")), "the only case: 51.25 to 30.75 worse", " / ", ""},
		{"sessions together", side("", row("1", 1, 50, ""), row("2", 1, 50, "")), side("", row("3", 1, 60, ""), row("4", 1, 60, "engine_version=2")),
			"the only case: 51.25 to 61.5 better", " / ", "engine_version differs: A 1, B 1, 2"},
		{"hidden differences", side("", row("1", 1, 50, "os_version=15.1 tool_version=0.1")), side("", row("2", 1, 50, "os_version=15.2 eos_ban=ignore_eos")),
			"the only case: 51.25 to 51.25 same", " / ", "os_version differs: A 15.1, B 15.2|eos_ban differs: A none, B ignore_eos|tool_version differs: A 0.1, B 1"},
		{"in more ways than are worth telling", side("", row("1", 1, 50, "tokens_source=a"), row("1", 2, 50, "pp=1 tokens_source=b"), row("1", 3, 50, "pp=2"), row("1", 4, 50, "pp=3")),
			side("", row("2", 1, 50, ""), row("2", 2, 50, "pp=1"), row("2", 3, 50, "pp=2 tokens_source=b"), row("2", 4, 50, "pp=3")),
			"pp 512: 51.25 to 51.25 same; pp 1: 51.25 to 51.25 same; pp 2: 51.25 to 51.25 same; pp 3: 51.25 to 51.25 same", " / ",
			"tokens_source differs in 3 of 4 cases, not in the same way: A a, b, none, B b, none"},
		{"in one case of two", side("", row("1", 1, 50, ""), row("1", 2, 50, "pp=1")), side("", row("2", 1, 50, "streaming=false"), row("2", 2, 50, "pp=1")),
			"the only case: 51.25 to 51.25 same", "pp 512, streamed / pp 512, not streamed", ""},
		{"streamed or not as a whole", side("", row("1", 1, 50, "")), side("", row("2", 1, 50, "streaming=false")), "the only case: 51.25 to 51.25 same", " / ", "streaming differs: A true, B false"},
		{"cold against prefix", side("", row("1", 1, 50, ""), row("1", 2, 40, "pp=1024")), side("", row("2", 1, 60, "cache_mode=prefix prefix_cache_hit=none"), row("2", 2, 50, "pp=1024 cache_mode=prefix prefix_cache_hit=none")),
			"pp 512: 51.25 to 61.5 better; pp 1024: 41 to 51.25 better", " / ", ""},
		{"a text that one side knows", side("", row("1", 1, 50, "pp= prompt_hash=ab prompt_kind=code")), side("", row("2", 1, 50, "pp= prompt_kind=code")), "the only case: 51.25 to 51.25 same", " / ", ""},
		{"another text", side("", row("1", 1, 50, "prompt_hash=ab")), side("", row("2", 1, 50, "prompt_hash=cd")), "", "text ab / text cd", ""},
		{"another length", side("", row("1", 1, 50, "")), side("", row("2", 1, 50, "pp=1")), "", "pp 512 / pp 1", ""},
		{"another number of tokens", side("", row("1", 1, 50, "")), side("", row("2", 1, 50, "tg=1")), "", "tg 128 / tg 1", ""},
		{"other streams", side("", row("1", 1, 50, "")), side("", row("2", 1, 50, "concurrency=4")), "", "concurrency 1 / concurrency 4", ""},
		{"two kinds of hit", side("", row("1", 1, 50, "")), side("", row("2", 1, 50, "cache_mode=prefix prefix_cache_hit=none"), row("2", 2, 50, "cache_mode=prefix prefix_cache_hit=partial")),
			"", "the only case / no hit; partial hit", ""},
		{"host by host", side("", row("1", 1, 50, ""), row("2", 1, 30, "host=k")), side("", row("3", 1, 30, "host=k"), row("4", 1, 50, "")),
			"h: 51.25 to 51.25 same; k: 30.75 to 30.75 same", " / ", ""},
	} {
		set, err := analyze.Compare(c.a, c.b, rate)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var pairs []string
		for _, p := range set.Pairs {
			pairs = append(pairs, fmt.Sprintf("%s: %v to %v %s", analyze.CaseName(p.Case), *p.A.Median, *p.B.Median, p.Verdict))
		}
		if got := strings.Join(pairs, "; "); got != c.pairs {
			t.Errorf("%s: pairs %s, want %s", c.name, got, c.pairs)
		}
		if got := strings.Join(set.OnlyA, "; ") + " / " + strings.Join(set.OnlyB, "; "); got != c.only {
			t.Errorf("%s: only in one: %s, want %s", c.name, got, c.only)
		}
		if got := strings.Join(set.Warnings, "|"); got != c.warnings {
			t.Errorf("%s: warnings %s, want %s", c.name, got, c.warnings)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	two := []analyze.Summary{row("1", 1, 50, "model_id=m1"), row("1", 2, 40, "model_id=m2")}
	for want, c := range map[string][2]analyze.Selected{
		"session 1 is on both sides": {side("", row("1", 1, 50, "")), side("", row("1", 1, 50, ""))},
		"A has 2 values of model_id (m1, m2), and the other side none of them: choose one with model_id=m1": {side("", two...), side("", row("2", 1, 50, "model_id=m3"))},
		"B has 2 values of model_quantization (4bit, 8bit)": {side("", row("2", 1, 50, "")),
			side("", row("1", 1, 50, "model_quantization=4bit"), row("1", 2, 50, "model_quantization=8bit"))},
	} {
		if _, err := analyze.Compare(c[0], c[1], rate); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestSetOfComparisons has what follows from all pairs together.
func TestSetOfComparisons(t *testing.T) {
	a := side("", row("1", 1, 50, ""), row("1", 2, 50, "pp=1"), row("1", 3, 50, "pp=2"))
	b := side("", row("2", 1, 100, ""), row("2", 2, 25, "pp=1"), row("2", 3, 50, "pp=2"))
	few := b.Rows[2].Stats["generation_tps"]
	few.Points = few.Points[:3]
	b.Rows[2].Stats["generation_tps"] = few
	b.Rows[1].NFailed = 2
	set, err := analyze.Compare(a, b, rate)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Means) != 1 || set.Means[0].Cases != 2 || math.Abs(set.Means[0].Change) > 1e-15 {
		t.Errorf("twice and half as much are %+v, want no change", set.Means)
	}
	p := *set.Pairs[0].Test.P
	if set.Tests != 2 || set.AfterAll != 2 || *set.Pairs[0].Holm != 2*p || *set.Pairs[1].Holm != 2*p || set.Pairs[2].Holm != nil {
		t.Errorf("%d tests, %d after all; p %v, %v", set.Tests, set.AfterAll, p, *set.Pairs[0].Holm)
	}
	if c := set.Pairs[2]; c.Verdict != analyze.VerdictTooFew || c.Change != nil || c.Interval != nil {
		t.Errorf("three runs: %+v", c)
	}
	if got := strings.Join(set.Warnings, "|"); got != "requests that failed or are invalid: A 0 of 18, B 2 of 20" {
		t.Errorf("warnings %s", got)
	}
}

// As JSON a list is a list, also where nothing is in it.
func TestComparisonsHaveNoNullLists(t *testing.T) {
	for _, rate := range []float64{50, 0} {
		set, err := analyze.Compare(side("", row("a", 1, 50, "")), side("", row("b", 1, rate, "")), analyze.Metrics()[:2])
		if err != nil {
			t.Fatal(err)
		}
		for path, list := range lists("set", reflect.ValueOf(*set)) {
			if list.IsNil() {
				t.Errorf("%s is null", path)
			}
		}
	}
}

// lists are all slices of a value, by where they are.
func lists(path string, v reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	switch v.Kind() {
	case reflect.Slice:
		out[path] = v
		for i := range v.Len() {
			maps.Copy(out, lists(fmt.Sprint(path, "[", i, "]"), v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			maps.Copy(out, lists(path+"."+v.Type().Field(i).Name, v.Field(i)))
		}
	}
	return out
}

func TestParseConditions(t *testing.T) {
	for text, want := range map[string]string{
		"engine=exo":                      "[engine=exo]",
		"engine=exo,model_id=a/b=c,d,pp=": "[engine=exo model_id=a/b=c,d pp=]",
		"quantization=4bit, host = h":     "[model_quantization=4bit host=h]",
		"label=a,=b, c":                   "[label=a,=b, c]",
		"=x":                              "=x: must be KEY=VALUE",
		"engin=exo":                       "engin=exo: must be KEY=VALUE",
		"engine":                          "engine: must be KEY=VALUE",
		"":                                ": must be KEY=VALUE",
		"engine=exo,x=1":                  "x=1: must be KEY=VALUE",
	} {
		got, err := analyze.ParseConditions(text)
		switch {
		case err != nil && !strings.HasPrefix(err.Error(), want), err == nil && fmt.Sprint(got) != want:
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	s := row("1", 1, 50, "tags=a,b")
	for text, want := range map[string]bool{"tags=a": true, "tags=a,b": true, "tags=c": false, "label=": true, "pp=512,tg=128": true, "pp=512,tg=1": false} {
		if conditions, err := analyze.ParseConditions(text); err != nil || conditions.Match(&s) != want {
			t.Errorf("%s: %v, want %t", text, err, want)
		}
	}
	unmet, values := analyze.Conditions{{Key: "pp", Value: "512"}, {Key: "tg", Value: "1"}}.Unmet([]analyze.Summary{s, row("1", 2, 1, "pp=1 tg=1")})
	if unmet.Key != "tg" || !slices.Equal(values, []string{"128"}) {
		t.Errorf("unmet %v, values %v", unmet, values)
	}
}

func FuzzParseConditions(f *testing.F) {
	for _, s := range []string{"engine=exo,model_id=m", "pp=512,", ",", "=", "a,b=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conditions, err := analyze.ParseConditions(text)
		if (err == nil) != (len(conditions) > 0) {
			t.Errorf("%q: %v, %v", text, conditions, err)
		}
	})
}
