package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// watched puts sensors into a session: the whole machine draws 60 W, the
// package may not be read.
func watched(recs []collect.Record, node string) []collect.Record {
	sensors := &collect.Sensors{Segment: 1, EveryNS: 25e7, Channels: []collect.Channel{
		{Node: "mac", Source: "macmon", Scope: "system", Metric: "power", Unit: "W"},
		{Node: "mac", Source: "macmon", Scope: "gpu", Metric: "frequency", Unit: "MHz"},
		{Node: "mac", Source: "rapl", Scope: "package", Metric: "energy", Unit: "J", Missing: "denied", Note: "the counters belong to root: chmod them"}}}
	samples := &collect.Samples{Segment: 1}
	for t := int64(-12e9); t < 60e9; t += 25e7 {
		samples.Samples = append(samples.Samples, collect.Sample{Node: node, Source: "macmon", Scope: "system", Metric: "power", Unit: "W", EndNS: t, Value: 60})
	}
	out := append([]collect.Record{}, recs[:2]...)
	out = append(out, sensors, recs[2], &collect.Idle{Segment: 1, TargetID: 1, StartNS: -11e9, EndNS: -1e9})
	out = append(out, recs[3:len(recs)-1]...)
	return append(out, samples, recs[len(recs)-1])
}

// TestEnergyOnTheScreen: joules stand where they are known, with whose they are;
// where they are not, why.
func TestEnergyOnTheScreen(t *testing.T) {
	recs := kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(*collect.Request) {}, []float64{10, 12, 11}, []float64{20})
	known, missing := storeOf(t, watched(recs, "mac")...), storeOf(t, watched(recs, "other")...)
	for _, c := range []struct {
		db    string
		args  []string
		sql   bool
		wants []string
		not   string
	}{
		{known, []string{"show"}, false, []string{"J/tok", "macmon on mac: system power, gpu frequency, every 0.250 s",
			"rapl on mac: no package energy (denied): the counters belong to root", "whole machine, by macmon", "indicative"}, "without energy"},
		{missing, []string{"show"}, false, []string{"4 batches without energy: no permission for the sensors"}, "J/tok"},
		{known, []string{"summary"}, true, []string{"J/", "whole machine, by macmon", "indicative", "idle before the first request: 60.0 W (system)"}, "without energy"},
		{missing, []string{"summary", "--format", "markdown"}, true, []string{"4 batches without energy: no permission"}, "J/tok"},
		{known, []string{"summary", "--asiai"}, true, []string{"tok/s/W", "60.0", "watts: the whole machine"}, "no power was measured"},
		{known, []string{"summary", "--format", "markdown"}, true, []string{"| J/ tok |", "±"}, "without energy"},
	} {
		if c.sql {
			needsSQL(t)
		}
		r := tokwatt(t, "", append(c.args, "--db", c.db)...)
		for _, want := range c.wants {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q: %q is missing:\n%s%s", c.args, want, r.out, r.err)
			}
		}
		if r.code != 0 || strings.Contains(r.out, c.not) {
			t.Errorf("%q: exit %d, or %q is there:\n%s%s", c.args, r.code, c.not, r.out, r.err)
		}
		for _, line := range strings.Split(r.out, "\n") {
			if n := len([]rune(line)); n > screenColumns && !strings.Contains(line, "own error") && c.args[0] == "summary" && len(c.args) < 3 {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
	}
	var doc struct {
		Sensors  []*collect.Sensors `json:"sensors"`
		NoEnergy []tally            `json:"energy_null_reasons"`
	}
	if err := json.Unmarshal([]byte(tokwatt(t, "", "show", "--json", "--db", missing).out), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Sensors) != 1 || len(doc.NoEnergy) != 1 || doc.NoEnergy[0] != (tally{"denied", 4}) {
		t.Errorf("%+v", doc)
	}
}

// TestSummaryWithEnergyFitsAScreen: with streams, which have the most columns.
func TestSummaryWithEnergyFitsAScreen(t *testing.T) {
	is := func(x float64) *float64 { return &x }
	stat := func(x float64) analyze.Stat { return analyze.Stat{N: 48, Median: is(x), Mean: is(x), SD: is(x / 20)} }
	pp := int64(4096)
	row := analyze.Summary{PP: &pp, TG: 128, Concurrency: 8, CacheMode: "cold", CV: is(4.21), Stability: "variable", NBatches: 6,
		Stats: map[string]analyze.Stat{"prompt_tps": stat(1234), "generation_tps": stat(21.4), "agg_wall_tps": stat(165), "ttft_ms": stat(12345), "j_per_output_token": stat(0.456)}}
	for _, streams := range []int64{1, 8} {
		row.Concurrency = streams
		row.Stats["itl_p50_ms"] = stat(46.7)
		var b bytes.Buffer
		writeSummary(&b, []analyze.Summary{row}, "table", nil, nil)
		if !strings.Contains(b.String(), "0.456") {
			t.Errorf("no joules:\n%s", b.String())
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if n := len([]rune(line)); n > screenColumns {
				t.Errorf("a line of %d columns:\n%s", n, b.String())
			}
		}
	}
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, reason := range []string{"gap", "uncovered", "frozen", "no_reading", "counter_reset", "short_window", "node_missing", "mixed_scopes",
		"sudo_needed", "denied", "masked", "no_channel", "vm", "off"} {
		text := unpowered(10, reason)
		if strings.HasSuffix(text, reason) || len([]rune(text+hint(reason))) > screenColumns || len([]rune(text)) > screenColumns-10 { // show indents it
			t.Errorf("%s: %s", reason, text)
		}
	}
}
