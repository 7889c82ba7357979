package main

import (
	"bytes"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestShowNamesWhatItShows: each text has its name, fits the screen, and what
// was lost is told.
func TestShowNamesWhatItShows(t *testing.T) {
	recs := kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m", Sampling: `{"temperature":0,"seed":42}`}, func(*collect.Request) {}, []float64{10})
	s := recs[0].(*collect.Session)
	s.Label, s.Note, s.Tags = "night", "a note", []string{"x"}
	s.Options = `{"model":["` + strings.Repeat(`model-with-a-name","`, 8) + `last"],"pp":[1]}`
	recs = append(recs, &collect.Lost{Segment: 1, Model: "other", Message: "no memory"})
	db := storeOf(t, recs...)
	out := tokwatt(t, "", "show", "--db", db).out
	for _, want := range []string{"\nlabel     night\n", "\nnote      a note\n", "\ntags      x\n", "\nsampling  {\"temperature\":0, \"seed\":42}\n",
		"not measured, or not to its end: other: no memory"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	for line := range strings.SplitSeq(out, "\n") {
		if n := len([]rune(line)); n > screenColumns {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	if doc := tokwatt(t, "", "show", "--json", "--db", db).out; !strings.Contains(doc, "no memory") {
		t.Errorf("JSON without what was lost:\n%s", doc)
	}
}

// TestClosingNamesWhatWasLost: be there no case at all.
func TestClosingNamesWhatWasLost(t *testing.T) {
	var c closing
	c.add(&collect.Lost{Segment: 1, Model: "demo", Message: "no memory"})
	c.finish()
	var b bytes.Buffer
	if c.write(&b); !strings.Contains(b.String(), "demo: no memory") {
		t.Errorf("%q", b.String())
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[int64]string{600 << 20: "600 MiB", 3 << 30: "3.00 GiB", 1<<20 + 1<<18: "1.25 MiB"} {
		if got := byteSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
