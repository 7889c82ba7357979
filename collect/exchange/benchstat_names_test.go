package exchange

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// sessionsOfFile are the records of each session of an imported file.
func sessionsOfFile(t *testing.T, file string) (out [][]collect.Record) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Name: file, R: bytes.NewReader(text), Size: int64(len(text)), Now: time.Unix(1796040000, 0)}
	for rec, err := range Read(t.Context(), in) {
		if _, begins := rec.(*collect.Session); begins {
			out = append(out, nil)
		}
		if err == nil {
			out[len(out)-1] = append(out[len(out)-1], rec)
		}
	}
	return out
}

func each(records []collect.Record) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		for _, rec := range records {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// benchText is a session's file, with the names of its lines.
func benchText(t *testing.T, records []collect.Record) (text string, names []string) {
	t.Helper()
	var out bytes.Buffer
	if err := Benchstat(&out, each(records)); err != nil {
		t.Fatal(err)
	}
	text = out.String()
	for r := benchfmt.NewReader(&out, "x"); r.Scan(); {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("syntax: %v", rec)
		case *benchfmt.Result:
			names = append(names, string(rec.Name))
		}
	}
	return text, names
}

// TestCasesHaveNamesOfTheirOwn: no two cases of a session share a name, in any
// file of any tool, and only where nothing else differs it is a number that
// tells them apart.
func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	files, err := filepath.Glob("testdata/import/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	lines := 0
	for _, file := range files {
		for _, records := range sessionsOfFile(t, file) {
			owner := map[string][2]int64{}
			var b benchLines
			for m, err := range batches(each(records)) {
				if err != nil {
					t.Fatal(err)
				}
				b.batch(m)
			}
			names := newBenchNames(b.cases)
			for _, c := range b.cases {
				name := names.of(c, "")
				if other, taken := owner[name]; taken {
					t.Errorf("%s: cases %v and %v are both %s", file, other, c.id(), name)
				}
				owner[name] = c.id()
			}
			text, written := benchText(t, records)
			lines += len(written)
			if strings.Contains(text, "/case=") || strings.Contains(text, " \n") || strings.Contains(text, ", \n") {
				t.Errorf("%s:\n%s", file, text)
			}
		}
	}
	if lines < 100 {
		t.Errorf("%d lines", lines)
	}
}

// TestWhatNamesTell: the depth always, the settings of targets and what a text is
// where they are needed.
func TestWhatNamesTell(t *testing.T) {
	for file, parts := range map[string][]string{
		"llama-bench-11434.json":   {"pp=32/tg=0/", "pp=32/depth=64/tg=0/", "pp=32/depth=64/tg=8/"},
		"llama-bench-bde7cd3.json": {"model=tiny-a.gguf/quant=F16/pp=16/tg=0/cache=cold/stream=no/n_threads=1/c=1", "model=tiny-a.gguf/quant=F16/pp=16/tg=0/cache=cold/stream=no/n_threads=2/c=1"},
	} {
		_, names := benchText(t, sessionsOfFile(t, filepath.Join("testdata/import", file))[0])
		for _, part := range parts {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, part) }) {
				t.Errorf("%s: no %s in %q", file, part, names)
			}
		}
	}
	target := &collect.TargetInfo{TargetID: 1, Engine: "e", ModelID: "m"}
	own := func(id int64, hash string) benchCase {
		return benchCase{target, &collect.Case{TargetID: 1, CaseID: id, PromptKind: "own", PromptHash: hash, TG: 8, Concurrency: 1, Streaming: true}}
	}
	cases := []benchCase{own(1, "aaaaaaaa00000000"), own(2, "bbbbbbbb00000000"), own(3, "bbbbbbbb00000000")}
	names := newBenchNames(cases)
	for i, want := range []string{
		"BenchmarkTokwatt/engine=e/model=m/prompt=own/text=aaaaaaaa/tg=8/case=1/c=1",
		"BenchmarkTokwatt/engine=e/model=m/prompt=own/text=bbbbbbbb/tg=8/case=2/c=1",
		"BenchmarkTokwatt/engine=e/model=m/prompt=own/text=bbbbbbbb/tg=8/case=3/c=1",
	} {
		if got := names.of(cases[i], analyze.CacheHit("")); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRatesOfOneStream: a batch of one request has the rate of all its tokens
// too, and a test of prompt and generation together the rate of both.
func TestRatesOfOneStream(t *testing.T) {
	for file, want := range map[string]string{
		"asiai-1.34.0.json":      `c=1 1 .*all-tok/s`,
		"llama-bench-11434.json": `pp=32/tg=8/.*c=1 1 [0-9.]+ mixed-tok/s`,
	} {
		text, _ := benchText(t, sessionsOfFile(t, filepath.Join("testdata/import", file))[0])
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("%s has no %s:\n%s", file, want, text)
		}
	}
}
