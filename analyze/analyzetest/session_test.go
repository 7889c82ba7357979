package analyzetest_test

import (
	"reflect"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

func gather(o analyzetest.Options) []collect.Record {
	var out []collect.Record
	for rec := range analyzetest.Records(o) {
		out = append(out, rec)
	}
	return out
}

func TestRecordsFollowFromTheSeed(t *testing.T) {
	a := gather(analyzetest.Options{Seed: 3})
	if !reflect.DeepEqual(a, gather(analyzetest.Options{Seed: 3})) {
		t.Error("one seed made two sessions")
	}
	if reflect.DeepEqual(a, gather(analyzetest.Options{Seed: 4})) {
		t.Error("two seeds made one session")
	}
}

func TestFleetHasOneIDASession(t *testing.T) {
	seen := map[string]bool{}
	for o := range analyzetest.Fleet(7, 4, analyzetest.Options{}) {
		if seen[o.ID()] {
			t.Errorf("%s is there twice", o.ID())
		}
		seen[o.ID()] = true
		if s := gatherSession(t, o); s.ID != o.ID() || s.Host.Name != o.Host {
			t.Errorf("session %s on %s, want %s on %s", s.ID, s.Host.Name, o.ID(), o.Host)
		}
	}
	if len(seen) != 28 {
		t.Errorf("%d sessions", len(seen))
	}
}

func gatherSession(t *testing.T, o analyzetest.Options) *collect.Session {
	t.Helper()
	for rec := range analyzetest.Records(o) {
		return rec.(*collect.Session)
	}
	return nil
}

// What the tests of others count on: every status, hit and source, and, when
// clean, nothing but good rows.
func TestSessionsHoldAllKindsOfRows(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(4) {
		for _, r := range rows(analyzetest.Options{Seed: seed}) {
			for _, s := range append([]string{string(r.Status), string(r.PrefixCacheHit), string(r.TokensSource), string(r.GenerationTPSSource)}, r.Flags...) {
				seen[s] = true
			}
		}
	}
	for _, want := range []string{"ok", "failed", "invalid", "none", "partial", "exact", "unknown", "server", "engine", "client", "tokenizer", "estimate",
		"cache_hit_in_cold", "short_output", "hidden_output", "not_streamed", "implausible", "prompt_mismatch", "model_mismatch", "count_mismatch", "throttled"} {
		if !seen[want] {
			t.Errorf("no row is %s", want)
		}
	}
	for _, r := range rows(analyzetest.Options{Clean: true}) {
		if r.Status != analyze.StatusOK || len(r.Flags) > 0 {
			t.Fatalf("a clean session has %s %q", r.Status, slices.Compact(r.Flags))
		}
	}
}

func rows(o analyzetest.Options) []analyze.RequestRow {
	var out []analyze.RequestRow
	var ctx analyze.Context
	for rec := range analyzetest.Records(o) {
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			ctx.Target = rec
		case *collect.Case:
			ctx.Case = rec
		case *collect.Batch:
			_, requests := analyze.Derive(ctx, rec, nil)
			out = append(out, requests...)
		}
	}
	return out
}
