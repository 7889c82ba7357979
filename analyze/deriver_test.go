package analyze_test

import (
	"iter"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// derived sends records through a Deriver.
func derived(t testing.TB, recs iter.Seq2[collect.Record, error]) []analyze.Derived {
	t.Helper()
	d := analyze.NewDeriver()
	var out []analyze.Derived
	for rec, err := range recs {
		if err != nil {
			t.Fatal(err)
		}
		ready, err := d.Add(rec)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ready...)
	}
	return append(out, d.Finish()...)
}
