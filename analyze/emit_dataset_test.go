package analyze_test

import (
	"flag"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

var emitDataset = flag.String("emit-dataset", "", "write synthetic sessions as a dataset into this folder, for scripts/check_spark.py")

// TestEmitDataset writes five sessions of five hosts whose names are easily
// lost: with energy, faults of all kinds, cache hits and estimated counts. One
// has as many repeats as a 99th percentile needs, one did not end.
func TestEmitDataset(t *testing.T) {
	if *emitDataset == "" {
		t.Skip("for scripts/check_spark.py: give -emit-dataset")
	}
	i := 0
	for o := range analyzetest.Fleet(5, 1, analyzetest.Options{Seed: 20, Targets: 4, Repeats: 12, Power: true}) {
		switch i++; i {
		case 1:
			o.Repeats, o.Concurrency = 110, []int64{1}
		case 2:
			o.Unfinished = true
		}
		if _, err := analyze.Export(t.Context(), analyzetest.Records(o), *emitDataset, analyze.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
