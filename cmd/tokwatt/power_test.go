package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/power"
	sensors "tokwatt/power/local"
)

// fakeSensors is a source in memory.
type fakeSensors struct {
	name     string
	channels []power.Channel
	read     func(ctx context.Context) ([]power.Sample, error)
}

func (f *fakeSensors) Name() string                                   { return f.name }
func (f *fakeSensors) OnDemand() bool                                 { return f.name == "counter" }
func (f *fakeSensors) Close() error                                   { return nil }
func (f *fakeSensors) Probe(context.Context) []power.Channel          { return f.channels }
func (f *fakeSensors) Read(c context.Context) ([]power.Sample, error) { return f.read(c) }

// fakeMachine has one of each: a counter that is near its range at 12.5 W, a
// stream of averages with a GPU and a temperature that it never gives, what
// only root may read, and what never answers.
func fakeMachine() []power.Source {
	start := time.Now()
	package1 := power.Channel{Source: "counter", Scope: power.ScopePackage, Metric: power.MetricEnergy, Unit: "J", Range: 1000, Devices: 2, Refresh: time.Millisecond}
	gpu := power.Channel{Scope: power.ScopeGPU, Metric: power.MetricPower, Unit: "W", Refresh: time.Second}
	heat := power.Channel{Source: "stream", Scope: power.ScopeGPU, Metric: power.MetricTemperature, Unit: "celsius"}
	level := power.Channel{Source: "stream", Metric: power.MetricPressure, Unit: "level"}
	locked := power.Channel{Source: "locked", Scope: power.ScopeSystem, Metric: power.MetricPower, Unit: "W", Missing: power.ReasonDenied, Note: "only root may read it: run as root"}
	dead := power.Channel{Source: "dead", Scope: power.ScopeDRAM, Metric: power.MetricEnergy, Unit: "J"}
	return []power.Source{
		&fakeSensors{"counter", []power.Channel{package1}, func(context.Context) ([]power.Sample, error) {
			now := time.Now()
			joules := 990 + 12.5*now.Sub(start).Seconds()
			for joules >= 1000 {
				joules -= 1000
			}
			return []power.Sample{{Scope: power.ScopePackage, Metric: power.MetricEnergy, Unit: "J", End: now, Value: joules}}, nil
		}},
		&fakeSensors{"stream", []power.Channel{gpu, heat, level}, func(context.Context) ([]power.Sample, error) {
			now := time.Now()
			return []power.Sample{{Scope: power.ScopeGPU, Metric: power.MetricPower, Unit: "W", Start: now.Add(-time.Second), End: now, Value: 40.25},
				{Metric: power.MetricPressure, Unit: "level", Value: 0}}, nil
		}},
		&fakeSensors{"locked", []power.Channel{locked}, func(context.Context) ([]power.Sample, error) { return nil, errors.New("denied") }},
		&fakeSensors{"dead", []power.Channel{dead}, func(ctx context.Context) ([]power.Sample, error) { <-ctx.Done(); return nil, ctx.Err() }},
	}
}

// TestPowerOnce holds what one reading looks like, and that each null has its
// reason.
func TestPowerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var out bytes.Buffer
		a := &app{out: &out}
		m := newMeter(ctx, fakeMachine(), time.Second)
		if err := a.readOnce(ctx, m, false); err != nil {
			t.Error(err)
		}
		out.WriteString("\n")
		doc := m.document("mac")
		if err := a.printJSON(doc); err != nil {
			t.Error(err)
		}
		golden(t, "examples/power.txt", out.String())
		nullsHaveReasons(t, doc)
	})
}

func nullsHaveReasons(t *testing.T, doc powerDocument) {
	t.Helper()
	for _, c := range doc.Channels {
		powerless := c.PowerW == nil && (c.Metric == power.MetricEnergy || c.Metric == power.MetricPower)
		if null := c.Value == nil || powerless; null != (c.Reason != "") || null && c.Note == "" {
			t.Errorf("%+v", c)
		}
	}
}

// TestPowerWatch: a line for each reading; on a terminal the newest in place of
// the one before; what hangs delays it by one interval, once.
func TestPowerWatch(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
			defer cancel()
			t.Setenv("TERM", "xterm")
			var out bytes.Buffer
			a := &app{out: &checkedWriter{w: &out, plain: terminal}}
			err := a.watch(ctx, newMeter(ctx, fakeMachine(), time.Second))
			var c *coded
			if !errors.As(err, &c) || c.code != exitInterrupted || c.Error() != "" {
				t.Errorf("%v", err)
			}
			text := out.String()
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if terminal {
				if n := strings.Count(text, "\x1b[8A\x1b[J"); n != 7 || strings.Count(text, "package") != 8 || strings.Contains(text, "\uFFFD") {
					t.Errorf("drawn over %d times: %q", n, text)
				}
				return
			}
			if len(lines) != 8 || strings.Contains(text, "\x1b") || !strings.HasSuffix(lines[0], "  package 12.5 W  gpu 40.2 W  gpu temperature –  pressure 0 level  dram –") {
				t.Errorf("%q", lines)
			}
		})
	}
}

func TestPowerOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locked := fakeMachine()[2:3]
		for name, read := range map[string]func(*app, *meter) error{
			"once":  func(a *app, m *meter) error { return a.readOnce(t.Context(), m, false) },
			"watch": func(a *app, m *meter) error { return a.watch(t.Context(), m) },
		} {
			var out bytes.Buffer
			err := read(&app{out: &out}, newMeter(t.Context(), locked, time.Second))
			if !errors.Is(err, errNoPower) || !strings.Contains(out.String(), "denied") || !strings.Contains(out.String(), "locked: only root may read it") {
				t.Errorf("%s: %v\n%s", name, err, out.String())
			}
		}
	})
}

// TestGauges: what counters and late readings show, by table.
func TestGauges(t *testing.T) {
	at := func(s, v float64) power.Sample {
		return power.Sample{End: time.Unix(0, int64(s*1e9)), Value: v}
	}
	for name, c := range map[string]struct {
		of      power.Channel
		samples []power.Sample
		now     float64
		want    float64
		reason  power.Reason
	}{
		"two readings":    {power.Channel{Metric: power.MetricEnergy}, []power.Sample{at(1, 10), at(3, 20)}, 3, 5, ""},
		"used nothing":    {power.Channel{Metric: power.MetricEnergy}, []power.Sample{at(1, 10), at(3, 10)}, 3, 0, ""},
		"one reading":     {power.Channel{Metric: power.MetricEnergy}, []power.Sample{at(1, 10)}, 1, 0, power.ReasonNoReading},
		"the same again":  {power.Channel{Metric: power.MetricEnergy}, []power.Sample{at(1, 10), at(3, 20), at(3, 20)}, 4, 5, ""},
		"began anew":      {power.Channel{Metric: power.MetricEnergy, Range: 100}, []power.Sample{at(1, 98), at(2, 3)}, 2, 5, ""},
		"was reset":       {power.Channel{Metric: power.MetricEnergy}, []power.Sample{at(1, 98), at(2, 3)}, 2, 0, power.ReasonNoReading},
		"long ago":        {power.Channel{Metric: power.MetricPower}, []power.Sample{at(1, 98)}, 4.5, 0, power.ReasonNoReading},
		"seldom":          {power.Channel{Metric: power.MetricPower, Refresh: 2 * time.Second}, []power.Sample{at(1, 98)}, 4.5, 98, ""},
		"nothing":         {power.Channel{Metric: power.MetricUsage}, nil, 1, 0, power.ReasonNoReading},
		"not there":       {power.Channel{Metric: power.MetricUsage, Missing: power.ReasonVM}, nil, 1, 0, power.ReasonVM},
		"there after all": {power.Channel{Metric: power.MetricUsage, Missing: power.ReasonVM}, []power.Sample{at(1, 0.5)}, 1, 0.5, ""},
	} {
		src := &fakeSensors{name: "s", channels: []power.Channel{c.of}}
		m := newMeter(t.Context(), []power.Source{src}, time.Second)
		for _, s := range c.samples {
			s.Metric = c.of.Metric
			m.take(m.readers[0], []power.Sample{s})
		}
		reason, _ := m.gauges[0].null(time.Unix(0, int64(c.now*1e9)))
		if _, v, _ := m.gauges[0].shown(); reason != c.reason || reason == "" && v != c.want {
			t.Errorf("%s: %g, %q, want %g, %q", name, v, reason, c.want, c.reason)
		}
	}
}

// TestPowerExamples runs the examples of the help screen on this machine,
// whatever it has.
func TestPowerExamples(t *testing.T) {
	lines, _ := (&app{}).power().Metadata["examples"].([]string)
	table := tokwatt(t, "", words(lines[0])[1:]...)
	doc := tokwatt(t, "", words(lines[1])[1:]...)
	var got powerDocument
	if err := json.Unmarshal([]byte(doc.out), &got); err != nil || doc.code != table.code || doc.code != exitOK && doc.code != exitNothing {
		t.Fatalf("exit %d and %d, %v: %s%s", table.code, doc.code, err, doc.out, doc.err)
	}
	if len(got.Sources) == 0 || len(got.Channels) == 0 {
		t.Errorf("%+v", got)
	}
	nullsHaveReasons(t, got)
	for line := range strings.Lines(table.out) {
		if row, _, _ := strings.Cut(line, ": "); row == line && len([]rune(line)) > screenColumns {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	for _, c := range []struct{ args, said string }{
		{"power --json", "add --once"},
		{"power --interval 10ms", "100ms at least"},
		{"power nothing", `no source "nothing"`},
		{"power --once off battery", "off stands alone"},
		{"collect --engine reference --pp 8 --tg 2 --power nothing", `--power: there is no source "nothing"`},
		{"collect --engine reference --pp 8 --tg 2 --power auto,battery --dry-run", "--power: auto stands alone"},
	} {
		if r := tokwatt(t, "", strings.Fields(c.args)...); r.code != exitUsage || !strings.Contains(r.err, c.said) {
			t.Errorf("%s: exit %d, %s", c.args, r.code, r.err)
		}
	}
}

// TestOpenSensors: a session that asked hears what it does not get; one that
// did not, only what it can mend.
func TestOpenSensors(t *testing.T) {
	for _, c := range []struct {
		session options
		env     string
		sources int
		warned  bool
	}{
		{options{"power": []string{"off"}}, "", 0, false},
		{options{"no-system-metrics": true, "power": []string{"battery"}}, "", 0, false},
		{options{}, "off", 0, false},
		{options{"power": []any{"battery,rapl"}}, "", 2, true},
		{options{"power": []string{"battery"}}, "off", 1, true},
	} {
		t.Setenv("TOKWATT_POWER", c.env)
		warned := false
		got, err := openSensors(t.Context(), c.session, func(string, ...any) { warned = true })
		readable := len(got) > 0 && !slices.ContainsFunc(got, func(s power.Source) bool { return !sensors.Readable(s.Probe(t.Context())) })
		if err != nil || len(got) != c.sources || warned != (c.warned && !readable) {
			t.Errorf("%v, %q: %d sources, warned %t, %v", c.session, c.env, len(got), warned, err)
		}
		if err := sensors.Close(got); err != nil {
			t.Error(err)
		}
	}
}
