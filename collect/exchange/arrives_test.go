package exchange_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// TestEveryNumberArrives walks the numbers of files that real tools wrote, and
// of the cases, and finds each in what is stored: as it is, or in another unit.
func TestEveryNumberArrives(t *testing.T) {
	files, err := filepath.Glob("../../testdata/transcripts/exo/results/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	own, err := filepath.Glob("testdata/import/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, own...) {
		if filepath.Base(path) == "scenarios.json" {
			continue // how the others were made
		}
		if text, err := os.ReadFile(path); err != nil {
			t.Error(err)
		} else {
			arrives(t, filepath.Base(path), string(text))
		}
	}
	for name, c := range importCases(t) {
		if len(imported(t, c.File).errors) == 0 {
			arrives(t, name, c.File)
		}
	}
}

// bare are numbers that are no part of a word, a version or a time of day.
var bare = regexp.MustCompile(`(^|[\s"',:\[{(|])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)($|[\s"',\]})|;])`)

// arrives finds the numbers of a file in the records that are made of it. The
// figures of averages and of their spread are there too, in the extras.
func arrives(t *testing.T, name, file string) {
	t.Helper()
	var stored strings.Builder
	have, rows := map[string]bool{}, 0
	in := exchange.Input{Name: name, Now: time.Unix(1.8e9, 0), R: strings.NewReader(file), Size: int64(len(file))}
	for rec, err := range exchange.Read(t.Context(), in) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := rec.(*collect.Batch); ok {
			for _, r := range b.Requests {
				rows++
				have[key(float64(r.EndNS-r.StartNS))] = true
				for i, c := range r.Chunks[min(1, len(r.Chunks)):] {
					gap := float64(c.T - r.Chunks[i].T) // between two stamps that were rounded
					have[key(gap-1)], have[key(gap)], have[key(gap+1)] = true, true, true
				}
			}
		}
		stored.WriteString(strings.ReplaceAll(string(text), `\"`, `"`) + "\n")
	}
	for _, m := range regexp.MustCompile(`"b(\d+)-`).FindAllStringSubmatch(stored.String(), -1) {
		x, _ := strconv.ParseFloat(m[1], 64) // a build of llama.cpp
		have[key(x)] = true
	}
	if rows == 0 {
		return // without a row there is no session
	}
	for _, x := range numbersOf(stored.String()) {
		have[key(x)] = true
	}
	for _, x := range numbersOf(file) {
		if !have[key(x)] && !have[key(math.Round(x*1e9))] && !have[key(x*1e3)] && !have[key(x*1e6)] && !have[key(x*(1<<30))] && x != 0 {
			t.Errorf("%s: %v is nowhere", name, x)
		}
	}
}

// key is a number to 12 digits.
func key(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }

func numbersOf(text string) []float64 {
	var out []float64
	for rest := text; ; {
		m := bare.FindStringSubmatchIndex(rest)
		if m == nil {
			return out
		}
		if x, err := strconv.ParseFloat(rest[m[4]:m[5]], 64); err == nil {
			out = append(out, x)
		}
		rest = rest[m[5]:]
	}
}
