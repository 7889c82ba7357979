package exchange

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// TestBenchstat reads what is written with the format's own reader: each line
// is a batch of a case, and its figures are the medians of its rows.
func TestBenchstat(t *testing.T) {
	o := analyzetest.Options{Seed: 5, Power: true}
	var out bytes.Buffer
	if err := Benchstat(&out, analyzetest.Records(o)); err != nil {
		t.Fatal(err)
	}
	results := parse(t, out.Bytes())
	i := 0
	for b, err := range batches(analyzetest.Records(o)) {
		if err != nil {
			t.Fatal(err)
		}
		if b.case_.CacheMode != collect.CacheCold {
			for ; i < len(results) && strings.Contains(results[i].name, "/hit="); i++ {
			}
			continue
		}
		var ttft []float64
		for _, r := range b.Requests {
			if r.InColdStats && r.TTFTMS != nil {
				ttft = append(ttft, *r.TTFTMS)
			}
		}
		rows := slices.ContainsFunc(b.Requests, func(r analyze.RequestRow) bool { return r.InColdStats })
		if !rows {
			continue
		}
		got := results[i]
		i++
		if name := "Tokwatt/engine=" + b.target.Engine + "/model=" + b.target.ModelID; !strings.HasPrefix(got.name, name) {
			t.Fatalf("line %d is %s, want %s", i, got.name, name)
		}
		s, _ := analyze.NewSample(ttft)
		if want := s.Median(); want != nil && math.Abs(got.values["ms/ttft"]-*want) > 1e-9 {
			t.Errorf("%s: ms/ttft is %v, want %v", got.name, got.values["ms/ttft"], *want)
		}
		if want := b.Row.JPerOutputToken; want != nil && got.values["J/tok"] != *want && got.values["J/tok"] != 0 {
			t.Errorf("%s: J/tok is %v, want %v", got.name, got.values["J/tok"], *want)
		}
	}
	if i != len(results) || i < 100 {
		t.Errorf("%d lines, %d expected", len(results), i)
	}
}

type parsedLine struct {
	name   string
	values map[string]float64
}

// parse fails on anything that benchstat would not understand.
func parse(t *testing.T, text []byte) []parsedLine {
	t.Helper()
	var out []parsedLine
	for r := benchfmt.NewReader(bytes.NewReader(text), "x"); r.Scan(); {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("syntax: %v", rec)
		case *benchfmt.Result:
			if rec.GetConfig("os") != "macOS" {
				t.Errorf("os is %q", rec.GetConfig("os"))
			}
			l := parsedLine{string(rec.Name), map[string]float64{}}
			for _, v := range rec.Values {
				l.values[v.Unit] = v.Value
			}
			out = append(out, l)
		}
	}
	return out
}

// TestBenchNames: what people and servers call things stays within the grammar.
func TestBenchNames(t *testing.T) {
	for _, word := range []string{"mlx-community/Llama 3", "a\tb\nBenchmarkX 1 2 ns/op", "é-8", "", "\xff", "x=y"} {
		m := measured{target: &collect.TargetInfo{Engine: word, ModelID: word, Sharding: word}, case_: &collect.Case{Concurrency: 8, PromptKind: word}}
		name := benchNames{}.of(benchCase{m.target, m.case_}, "")
		results := parse(t, []byte("os: macOS\n"+name+" 1 2 ms/ttft\n"))
		if len(results) != 1 || "Benchmark"+results[0].name != name || !strings.HasSuffix(name, "/c=8") {
			t.Errorf("%q makes %s, read as %v", word, name, results)
		}
	}
}

// TestUnreadableSessionsAreNotExported: a file that lacks a batch would lie.
func TestUnreadableSessionsAreNotExported(t *testing.T) {
	broken := func(yield func(collect.Record, error) bool) {
		for rec, err := range analyzetest.Records(analyzetest.Options{}) {
			if _, isCase := rec.(*collect.Case); !isCase && !yield(rec, err) {
				return
			}
		}
	}
	if err := Benchstat(new(bytes.Buffer), broken); err == nil {
		t.Error("batches without their case were written")
	}
	_, rows := RequestRows(broken)
	failed := false
	for _, err := range rows {
		failed = failed || err != nil
	}
	if !failed {
		t.Error("rows of batches without their case were given")
	}
}
