package main

import (
	"strings"
	"testing"
	"time"

	"tokwatt/analyze/duck"
	"tokwatt/collect"
)

func TestGoodputLimits(t *testing.T) {
	ms := time.Millisecond
	for given, want := range map[string]duck.Limits{
		"ttft=500ms,tpot=50ms": {TTFT: 500 * ms, TPOT: 50 * ms},
		"ttft=500, itl=1.5":    {TTFT: 500 * ms, ITL: 1500 * time.Microsecond},
		"e2el=2s":              {Total: 2 * time.Second},
	} {
		if got, err := goodputLimits(given); err != nil || got != want {
			t.Errorf("%s is %+v (error %v), want %+v", given, got, err, want)
		}
	}
	for _, given := range []string{"ttft", "ttft=", "=5", "tttf=5", "ttft=0", "ttft=-5ms", "ttft=x", "ttft=5,ttft=6", ",", "ttft=5,"} {
		if got, err := goodputLimits(given); err == nil {
			t.Errorf("%s is %+v, want a refusal", given, got)
		}
	}
}

// TestSummaryGoodput: limits that all keep and none keeps; a failed request is
// never good.
func TestSummaryGoodput(t *testing.T) {
	needsSQL(t)
	t.Setenv("TOKWATT_DB", fixture(t))
	none := tokwatt(t, "", "summary", "--goodput", "ttft=1ns", "--json")
	all := tokwatt(t, "", "summary", "--goodput", "e2el=1h", "--format", "csv")
	if none.code != 0 || strings.Count(none.out, `"good":0,"share":0,"good_per_s":0,`) != strings.Count(none.out, `"good":`) {
		t.Errorf("exit %d: %s%s", none.code, none.out, none.err)
	}
	if all.code != 0 || !strings.Contains(all.out, ",6,0,6,1,") || !strings.Contains(all.out, ",24,2,22,0.91666") {
		t.Errorf("exit %d: %s%s", all.code, all.out, all.err)
	}
	if bare, unit := tokwatt(t, "", "summary", "--goodput", "e2el=900", "--json"), tokwatt(t, "", "summary", "--goodput", "e2el=900ms", "--json"); bare != unit || bare.out == all.out {
		t.Errorf("a number without a unit: %s%s, with ms: %s%s", bare.out, bare.err, unit.out, unit.err)
	}
	if help := tokwatt(t, "", "summary", "--help").out; !strings.Contains(help, "no unit: ms") {
		t.Errorf("the help does not say what a number without a unit is:\n%s", help)
	}
	golden(t, "summary/goodput.txt", tokwatt(t, "", "summary", "--goodput", "ttft=500ms,tpot=30ms").out)
	for _, args := range [][]string{{"--asiai"}, {"--percentiles", "50"}} {
		if r := tokwatt(t, "", append([]string{"summary", "--goodput", "ttft=1s"}, args...)...); r.code != exitUsage {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
	}
}

// TestGoodputSaysWhatIsLeftOut: an answer without its requests says why.
func TestGoodputSaysWhatIsLeftOut(t *testing.T) {
	needsSQL(t)
	for _, streamed := range []bool{true, false} {
		recs := kindsOf(collect.TargetInfo{Engine: "lmstudio", Driver: "openai", ModelID: "demo"}, func(r *collect.Request) { r.Streamed = streamed }, []float64{100, 101, 102})
		for _, rec := range recs {
			if c, ok := rec.(*collect.Case); ok {
				c.Streaming = streamed
			}
		}
		r := tokwatt(t, "", "summary", "--db", storeOf(t, recs...), "--goodput", "ttft=1s")
		if r.code != 0 || strings.Contains(r.err, "left out: 3 of 3 requests, which were not streamed") == streamed || strings.Contains(r.out, "lmstudio") != streamed {
			t.Errorf("streamed %v: exit %d:\n%s%s", streamed, r.code, r.out, r.err)
		}
	}
}
