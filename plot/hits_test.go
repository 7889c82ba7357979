package plot

import (
	"strings"
	"testing"

	"tokwatt/analyze"
)

// hits are the rows of a case that is not cold, one for each kind of hit.
func hits() []analyze.Summary {
	var rows []analyze.Summary
	for _, row := range matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, 3) {
		row.CacheMode = "server"
		for _, hit := range []string{"none", "partial", "exact"} {
			row.PrefixCacheHit = hit
			rows = append(rows, row)
		}
	}
	return rows
}

// TestHitsAreKeptApart: kinds of cache hits are series of their own, and what
// would put them on one point is refused: their mean is the figure of nothing.
func TestHitsAreKeptApart(t *testing.T) {
	fig, err := Scaling(hits(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fig.Panels {
		if got := strings.Join(seriesNames(p), "|"); got != "no hit|partial hit|exact hit" {
			t.Errorf("%s: series %q", p.Y.Label, got)
		}
	}
	if _, err := Scaling(hits(), Options{By: []string{"engine"}}); err == nil || !strings.Contains(err.Error(), "prefix_cache_hit") {
		t.Errorf("all on one line: %v", err)
	}
	lanes, err := Latency(hits(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := labels(lanes.Panels[0].Y.Ticks); strings.Count(got, " hit") != 6 {
		t.Errorf("lanes %q, want one for each length and kind of hit", got)
	}
}
