package ioreport

import (
	"strings"
	"testing"
	"time"

	"tokwatt/power"
)

// TestThisMac reads the machine that it runs on: every function is found,
// nothing crashes or leaks a reading of 0 W, counters go forwards. A value may
// be missing, with its reason: many Macs that tests run on are virtual.
//
//	go test -v -run ThisMac ./power/ioreport
func TestThisMac(t *testing.T) {
	s := New()
	defer s.Close()
	s.Probe(t.Context())
	last := map[string]power.Sample{}
	for range 15 {
		before := time.Now()
		got, err := s.Read(t.Context())
		if err != nil {
			t.Log(err)
		}
		t.Logf("%d samples in %v", len(got), time.Since(before))
		for _, r := range got {
			key := string(r.Scope) + " " + string(r.Metric)
			p, again := last[key]
			if again && r.Metric == power.MetricEnergy && (r.Value < p.Value || !r.End.After(p.End)) {
				t.Errorf("%s goes from %g J at %v to %g J at %v", key, p.Value, p.End, r.Value, r.End)
			}
			if again && r.Metric == power.MetricEnergy {
				t.Logf("%s: %.3f W, stamped %v ago", key, (r.Value-p.Value)/r.End.Sub(p.End).Seconds(), time.Since(r.End))
			}
			if r.End.After(time.Now()) || r.Scope == power.ScopeSystem && r.Value == 0 {
				t.Errorf("%+v", r)
			}
			last[key] = r
		}
		time.Sleep(250 * time.Millisecond)
	}
	for _, c := range s.Probe(t.Context()) {
		t.Logf("%-8s %-20s last %12.3f %-8s refresh %v stamped %t %s %s", c.Scope, c.Metric, last[string(c.Scope)+" "+string(c.Metric)].Value, c.Unit, c.Refresh, c.Stamped, c.Missing, c.Note)
		if strings.Contains(c.Note, "this system's library") {
			t.Errorf("%s %s: %s", c.Scope, c.Metric, c.Note)
		}
	}
}
