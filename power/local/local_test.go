package local

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/power"
)

// fake is a source by name, which tells whether it reads power: "good", "warm"
// (temperatures), "denied", "hung".
type fake struct {
	name   string
	probes int
	closed int
	until  chan struct{} // hung ones end with it
}

func (f *fake) Name() string   { return f.name }
func (f *fake) OnDemand() bool { return true }
func (f *fake) Close() error {
	f.closed++
	if f.name == "hung" {
		<-f.until
	}
	return errors.New(f.name)
}
func (f *fake) Read(context.Context) ([]power.Sample, error) {
	return []power.Sample{{Source: f.name}}, nil
}
func (f *fake) Probe(context.Context) []power.Channel {
	f.probes++
	c := power.Channel{Source: f.name, Metric: power.MetricPower}
	switch f.name {
	case "warm":
		c.Metric = power.MetricTemperature
	case "denied":
		c.Missing = power.ReasonDenied
	case "hung":
		<-f.until
	}
	return []power.Channel{c}
}

func of(alternatives bool, list string, until chan struct{}) (system, map[string]*fake) {
	s, made := system{alternatives: alternatives}, map[string]*fake{}
	maker := func(name string) maker {
		return maker{name, func() power.Source { made[name] = &fake{name: name, until: until}; return made[name] }}
	}
	for _, name := range strings.Fields(list) {
		s.sources = append(s.sources, maker(name))
	}
	s.last = maker("last")
	return s, made
}

func names(sources []power.Source) string {
	var out []string
	for _, s := range sources {
		out = append(out, s.Name())
	}
	return strings.Join(out, " ")
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		alternatives bool
		has, ask     string
		want, fault  string
	}{
		{true, "good other", "", "good", ""},
		{true, "denied good other", "auto", "denied good", ""},
		{true, "warm good", "", "warm good", ""},
		{true, "denied warm", "", "denied warm last", ""},
		{false, "denied good warm", "", "denied good warm", ""},
		{false, "denied warm", "auto", "denied warm last", ""},
		{false, "", "", "last", ""},
		{false, "good", "off", "", ""},
		{true, "good other", "other", "other", ""},
		{true, "good other", "last other", "other last", ""},
		{false, "good", "good good", "good", ""},
		{false, "good", "bad", "", `no source "bad" on this system: take auto, off, some of good, last, or the URL of a macmon serve`},
		{false, "good", "good off", "", "off stands alone"},
		{false, "good", "auto good", "", "auto stands alone"},
	} {
		s, made := of(c.alternatives, c.has, nil)
		got, err := s.choose(t.Context(), strings.Fields(c.ask))
		if names(got) != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s of %s: %q, %v", c.ask, c.has, names(got), err)
		}
		for _, one := range got {
			one.Probe(t.Context())
			if f := made[one.Name()]; f.probes != 1 {
				t.Errorf("%s was probed %d times", f.name, f.probes)
			}
			one.(interface{ Revive(context.Context) }).Revive(t.Context())
			if f := made[one.Name()]; f.probes != 2 {
				t.Errorf("%s was not started again", f.name)
			}
			if r, err := one.Read(t.Context()); err != nil || r[0].Source != one.Name() {
				t.Errorf("%v, %v", r, err)
			}
		}
		if len(made) != len(got) {
			t.Errorf("%s of %s: %d were made", c.ask, c.has, len(made))
		}
		if err := Close(got); (err == nil) != (len(got) == 0) {
			t.Error(err)
		}
		for _, f := range made {
			if f.closed != 1 {
				t.Errorf("%s was closed %d times", f.name, f.closed)
			}
		}
	}
}

// TestHung: a source that does not answer holds up nobody for long, and is
// asked for nothing more.
func TestHung(t *testing.T) {
	for _, alternatives := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			until := make(chan struct{})
			defer close(until)
			s, _ := of(alternatives, "hung good", until)
			start := time.Now()
			got, err := s.choose(t.Context(), nil)
			if took := time.Since(start); err != nil || names(got) != "hung good" || took > probeTimeout+time.Second {
				t.Fatalf("%q, %v, after %v", names(got), err, took)
			}
			c := got[0].Probe(t.Context())
			if r, err := got[0].Read(t.Context()); r != nil || err == nil || len(c) != 1 || c[0].Missing != power.ReasonNoChannel || c[0].Source != "hung" || Readable(c) {
				t.Errorf("%+v, %v, %v", c, r, err)
			}
			start = time.Now()
			if err := Close(got); time.Since(start) != closeTimeout || err == nil || !strings.Contains(err.Error(), "can't be closed") {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		})
	}
}

// TestThisMachine: whatever it has, each source says of each channel what it is
// and, where it can't be read, why.
func TestThisMachine(t *testing.T) {
	got, err := Sources(t.Context(), nil)
	if err != nil || len(got) == 0 {
		t.Fatal(names(got), err)
	}
	defer Close(got)
	for _, s := range got {
		channels := s.Probe(t.Context())
		if len(channels) == 0 {
			t.Errorf("%s says nothing", s.Name())
		}
		for _, c := range channels {
			if c.Source == "" || c.Metric == "" || c.Unit == "" || (c.Missing != "" && c.Note == "") {
				t.Errorf("%+v", c)
			}
		}
	}
	if all := Names(); len(all) != 4 || all[3] != "battery" {
		t.Errorf("%q", all)
	}
	if Check(Names()) != nil || Check([]string{"nothing"}) == nil {
		t.Error("names are not checked")
	}
}
