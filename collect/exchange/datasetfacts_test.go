package exchange_test

import (
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// TestDatasetSessionFacts: what was recorded comes out of a dataset as it went
// in, record by record.
func TestDatasetSessionFacts(t *testing.T) {
	for name, recs := range datasetSessions(t) {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			done := exported(t, recs, root)
			want, got := factsOf(t, recs), factsOf(t, exchange.DatasetSession(t.Context(), root, done.SessionID))
			if len(got) != len(want) {
				t.Errorf("%d records, want %d", len(got), len(want))
			}
			differ := 0
			for i := range min(len(want), len(got)) {
				if got[i] == want[i] {
					continue
				}
				if differ++; differ < 4 {
					at := 0
					for at < min(len(got[i]), len(want[i])) && got[i][at] == want[i][at] {
						at++
					}
					t.Errorf("record %d differs in …%s, want …%s", i, part(got[i], at), part(want[i], at))
				}
			}
		})
	}
}

func part(text string, at int) string { return text[max(0, at-80):min(len(text), at+80)] }

// factsOf are the records as text, sorted: an import has readings before the
// batches of their time, and all targets first. What a dataset is known not to
// have is the same in all.
func factsOf(t *testing.T, recs iter.Seq2[collect.Record, error]) []string {
	t.Helper()
	var out []string
	var host string
	var readings []collect.Sample
	for rec, err := range recs {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := rec.(*collect.Session); ok {
			host = s.Host.Name
		}
		if of, ok := rec.(*collect.Samples); ok {
			for _, s := range of.Samples {
				s.Node = cmp.Or(s.Node, host)
				readings = append(readings, s)
			}
			continue
		}
		out = append(out, strings.ReplaceAll(jsonOf(t, known(rec)), "[]", "null"))
	}
	slices.Sort(out)
	return append(out, jsonOf(t, readings))
}

// known is a record as far as a dataset has it.
func known(rec collect.Record) collect.Record {
	switch r := rec.(type) {
	case *collect.Session:
		s := *r
		s.StartedAt = wall(s.StartedAt)
		if s.Imported != nil {
			o := *s.Imported
			o.ImportedAt = wall(o.ImportedAt)
			s.Imported = &o
		}
		return &s
	case *collect.Segment:
		s := *r
		s.StartedAt = wall(s.StartedAt)
		return &s
	case *collect.End:
		e := *r
		e.At = wall(e.At)
		return &e
	case *collect.Batch:
		b := *r
		b.Requests = slices.Clone(b.Requests)
		for i := range b.Requests {
			b.Requests[i] = knownOf(b.Requests[i])
		}
		return &b
	}
	return rec
}

func wall(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }

func knownOf(r collect.Request) collect.Request {
	if f := r.Failure; f != nil {
		with := *f
		with.HTTPStatus = r.HTTPStatus // drivers say it twice
		r.Failure = &with
	}
	for _, figure := range []**float64{&r.Report.PromptTPS, &r.Report.TotalNS} {
		if *figure != nil && math.IsNaN(**figure) {
			*figure = some(-1.0)
		}
	}
	return r
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
