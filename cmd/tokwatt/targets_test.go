package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/collect"
)

// placements is a session of one model in two placements, that differ in the
// number of machines alone.
func placements() []collect.Record {
	recs := kindsOf(collect.TargetInfo{Engine: "exo", Driver: "exo", ModelID: "m", Sharding: "Tensor", InstanceMeta: "MlxRing", Nodes: []string{"a", "b"}},
		func(*collect.Request) {}, []float64{10, 11})
	var out []collect.Record
	for _, rec := range recs {
		switch rec := rec.(type) {
		case *collect.Case:
			rec.PromptKind = "own"
		case *collect.End:
			other := *out[2].(*collect.TargetInfo)
			other.TargetID, other.Nodes = 2, []string{"a"}
			again := *out[3].(*collect.Case)
			again.TargetID, again.CaseID = 2, 2
			batch := *out[4].(*collect.Batch)
			batch.CaseID, batch.BatchID = 2, 9
			batch.Requests = []collect.Request{batch.Requests[0]}
			batch.Requests[0].RequestID = 9
			out = append(out, &other, &again, &batch)
		}
		out = append(out, rec)
	}
	return out
}

// TestPlacementsAreToldApart: on every screen, and in a picture.
func TestPlacementsAreToldApart(t *testing.T) {
	needsSQL(t)
	t.Chdir(t.TempDir())
	db := storeOf(t, placements()...)
	for _, args := range [][]string{{"show"}, {"summary"}, {"summary", "--asiai"}} {
		r := tokwatt(t, "", append(args, "--db", db)...)
		for _, want := range []string{"Tensor/MlxRing 2 nodes", "Tensor/MlxRing 1 node"} {
			if r.code != 0 || !strings.Contains(r.out, want) {
				t.Errorf("%v: exit %d, %q is missing:\n%s%s", args, r.code, want, r.out, r.err)
			}
		}
	}
	for _, more := range [][]string{nil, {"--by", "placement_nodes"}} {
		r := tokwatt(t, "", append([]string{"plot", "scaling", "--x", "concurrency", "--out", "p.svg", "--db", db}, more...)...)
		svg, _ := os.ReadFile(filepath.Join(".", "p.svg"))
		if r.code != 0 || !strings.Contains(string(svg), "2 nodes") || strings.Contains(string(svg), "target") {
			t.Errorf("plot %v: exit %d: %s", more, r.code, r.err)
		}
	}
	r := tokwatt(t, "", "plot", "scaling", "--x", "concurrency", "--where", "placement_nodes=1", "--where", "placement_sharding=Tensor", "--db", db)
	if r.code != 0 {
		t.Errorf("--where: exit %d: %s", r.code, r.err)
	}
}
