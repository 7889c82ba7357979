package nvidia

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tokwatt/power"
)

// fake is a nvidia-smi that prints lines, all at once and again after a pause,
// as the real one does. What it was asked is in the file "asked" beside it.
func fake(t *testing.T, script string) *SMI {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nvidia-smi")
	text := "echo \"$@\" >> \"$(dirname \"$0\")/asked\"\n" + script
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewSMI("sh", file) // not the file itself: another test's child may hold it open for writing
	t.Cleanup(func() { s.Close() })
	return s
}

func loop(lines ...string) string {
	return "while :; do\nprintf '%s\\n' '" + strings.Join(lines, "' '") + "'\nsleep 0.1\ndone\n"
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

type key struct {
	source string
	metric power.Metric
}

func missing(channels []power.Channel) map[key]power.Reason {
	got := map[key]power.Reason{}
	for _, c := range channels {
		got[key{c.Source, c.Metric}] = c.Missing
	}
	return got
}

func TestProbe(t *testing.T) {
	const no = power.ReasonNoReading
	for name, c := range map[string]struct {
		script string
		want   map[key]power.Reason
	}{
		"two GPUs": {loop("0, 213.31, 220.02, 97, 61, 1980, 2520", "1, [N/A], 18.20, 0, 35, 210, 2520"), map[key]power.Reason{
			{"nvidia:0", "power"}: "", {"nvidia:0", "usage"}: "", {"nvidia:0", "temperature"}: "", {"nvidia:0", "frequency"}: "", {"nvidia:0", "frequency_max"}: "",
			{"nvidia:1", "power"}: "", {"nvidia:1", "usage"}: "", {"nvidia:1", "temperature"}: "", {"nvidia:1", "frequency"}: "", {"nvidia:1", "frequency_max"}: "",
		}},
		"tells little": {loop("0, [N/A], [Not Supported], [N/A], 44, [Unknown Error], [N/A]"), map[key]power.Reason{
			{"nvidia:0", "power"}: no, {"nvidia:0", "usage"}: no, {"nvidia:0", "temperature"}: "", {"nvidia:0", "frequency"}: no, {"nvidia:0", "frequency_max"}: no,
		}},
		"older driver": {
			`case "$*" in *power.draw.average*) echo 'Field "power.draw.average" is not a valid field to query.'; exit 2;; esac` + "\n" +
				loop("0, 61.5, 50, 44, 1000, 1500"),
			map[key]power.Reason{{"nvidia:0", "power"}: "", {"nvidia:0", "usage"}: "", {"nvidia:0", "temperature"}: "", {"nvidia:0", "frequency"}: "", {"nvidia:0", "frequency_max"}: ""},
		},
		"no driver": {"echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; exit 9",
			map[key]power.Reason{{"nvidia", "power"}: power.ReasonNoChannel}},
		"forbidden": {"echo 'Failed to initialize NVML: Insufficient Permissions' >&2; exit 4",
			map[key]power.Reason{{"nvidia", "power"}: power.ReasonDenied}},
		"silent": {"exit 0", map[key]power.Reason{{"nvidia", "power"}: power.ReasonNoChannel}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fake(t, c.script)
			channels := s.Probe(patient(t))
			got := missing(channels)
			for k, want := range c.want {
				if why, ok := got[k]; !ok || why != want {
					t.Errorf("%v: %q, %t, want %q", k, why, ok, want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%v", got)
			}
			for _, ch := range channels {
				if ch.Missing != "" && ch.Note == "" {
					t.Errorf("%s: no note", ch.Metric)
				}
			}
			if again := s.Probe(patient(t)); len(again) != len(channels) {
				t.Errorf("again: %v", again)
			}
		})
	}
	if got := NewSMI("/there/is/no/nvidia-smi").Probe(t.Context()); got[0].Missing != power.ReasonNoChannel || got[0].Note == "" {
		t.Errorf("%v", got)
	}
}

func TestStream(t *testing.T) {
	s := fake(t, loop("0, 213.31, 220.02, 97, 61, 1980, 2520", "1, [N/A], 18.20, 0, 35, 210, 2520"))
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("read before it was probed")
	}
	channels := s.Probe(patient(t))
	if channels[0].Refresh != time.Second || channels[5].Refresh != 0 {
		t.Errorf("%+v", channels)
	}
	got, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := map[key]power.Sample{}
	for _, x := range got {
		if _, ok := first[key{x.Source, x.Metric}]; !ok {
			first[key{x.Source, x.Metric}] = x
		}
	}
	if x := first[key{"nvidia:0", "power"}]; x.Value != 213.31 || x.End.Sub(x.Start) != time.Second {
		t.Errorf("average: %+v", x)
	}
	if x := first[key{"nvidia:1", "power"}]; x.Value != 18.2 || !x.Start.IsZero() {
		t.Errorf("instant: %+v", x)
	}
	if x := first[key{"nvidia:0", "usage"}]; x.Value != 0.97 || x.Unit != "ratio" {
		t.Errorf("usage: %+v", x)
	}
	if asked, _ := os.ReadFile(filepath.Join(filepath.Dir(s.program[1]), "asked")); !strings.Contains(string(asked), "-lms 80") {
		t.Errorf("asked %s", asked)
	}
	pid := s.run.Pid()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A GPU that dies ends the stream with its words; another probe begins anew.
func TestEnds(t *testing.T) {
	s := fake(t, "echo '0, 5, 5, 5, 40, 5, 5'; sleep 0.2; echo 'GPU is lost' >&2; exit 15")
	if got := missing(s.Probe(patient(t))); got[key{"nvidia:0", "power"}] != "" {
		t.Fatalf("%v", got)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := s.Read(t.Context()); err != nil {
			if !strings.Contains(err.Error(), "GPU is lost") {
				t.Error(err)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("no end")
		}
	}
	if got := missing(s.Probe(patient(t))); got[key{"nvidia:0", "power"}] != "" {
		t.Errorf("again: %v", got)
	}
}

// wave is power that steps at random, as seen by a GPU with averages of the
// last second.
type wave []float64 // W of each 10 ms

func (w wave) joules(from, to int) (j float64) { // in 10 ms
	for _, watts := range w[from:to] {
		j += watts / 100
	}
	return j
}

// Averages of one GPU never overlap, and follow one another closely enough for
// a curve to take them as adjoining: what it says is bounded, not indicative.
func TestAveragesTile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w wave
	for len(w) < 12_000 {
		watts := 50 + 300*random.Float64()
		for range 50 + random.IntN(300) {
			w = append(w, watts)
		}
	}
	p, origin := newParser(newPower), time.Now()
	var got []power.Sample
	for at := 100; at < 12_000; at += 8 + random.IntN(3) { // lines come every 80 to 100 ms
		line := fmt.Sprintf("0, %.2f, 1, 90, 60, 1000, 2000", w.joules(at-100, at))
		samples, err := p.line(origin.Add(time.Duration(at)*10*time.Millisecond), []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range samples {
			if x.Metric != power.MetricPower {
				continue
			}
			if n := len(got); n > 0 && x.Start.Before(got[n-1].End) {
				t.Fatalf("%v overlaps %v", x, got[n-1])
			}
			got = append(got, x)
		}
	}
	curve := power.SeriesOf([]power.Channel{powerChannel("nvidia:0", true, true)}, got, origin)[0].Curve(0)
	for from := 300; from < 6000; from += 371 {
		to := from + 2000 + from/2
		window := curve.Energy(int64(from)*1e7, int64(to)*1e7)
		truth := w.joules(from, to)
		if window.EnergyJ == nil || window.Indicative || math.Abs(*window.EnergyJ-truth) > 0.02*truth || truth < *window.LowJ || truth > *window.HighJ {
			t.Errorf("%d to %d: %+v, truth %v", from, to, window, truth)
		}
	}
}

func TestLine(t *testing.T) {
	at := time.Now()
	for line, want := range map[string]map[power.Metric]float64{
		"0, 213.31, 220.02, 97, 61, 1980, 2520":  {"power": 213.31, "usage": 0.97, "temperature": 61, "frequency": 1980, "frequency_max": 2520},
		"0, [N/A], 40.5, [N/A], 61, [N/A], 2520": {"power": 40.5, "temperature": 61, "frequency_max": 2520},
		"0, [N/A], [N/A], 0, 0, 0, 0":            {"usage": 0},
		"0, nan, inf, 101, 151, -1, 1e9":         {},
		"0, 0.00, 0.00, 5, 50, 300, 300":         {"power": 0, "usage": 0.05, "temperature": 50, "frequency": 300, "frequency_max": 300},
		"  0,1,1,1,1,1,1\r":                      {"power": 1, "usage": 0.01, "temperature": 1, "frequency": 1, "frequency_max": 1},
		"":                                       {},
	} {
		samples, err := newParser(newPower).line(at, []byte(line))
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if len(samples) != len(want) {
			t.Errorf("%q: %v", line, samples)
		}
		for _, x := range samples {
			if math.Abs(x.Value-want[x.Metric]) > 1e-9 || x.End != at {
				t.Errorf("%q: %+v", line, x)
			}
		}
	}
	for _, line := range []string{"No devices were found", "x, 1, 1, 1, 1, 1, 1", "-1, 1, 1, 1, 1, 1, 1", "0, 1", "9999999, 1, 1, 1, 1, 1, 1"} {
		if got, err := newParser(newPower).line(at, []byte(line)); err == nil || got != nil {
			t.Errorf("%q: %v, %v", line, got, err)
		}
	}
}

// What a GPU's power is stays as its first line said: averages and readings of
// an instant are not mixed.
func TestKindStays(t *testing.T) {
	p, at := newParser(newPower), time.Now()
	for i, line := range []string{"0, 50, 60, 1, 1, 1, 1", "0, [N/A], 60, 1, 1, 1, 1", "0, 50, 60, 1, 1, 1, 1"} {
		at = at.Add(2 * time.Second)
		samples, err := p.line(at, []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		has := samples[0].Metric == power.MetricPower
		if has == (i == 1) || has && (samples[0].Value != 50 || samples[0].Start.IsZero()) {
			t.Errorf("line %d: %+v", i, samples[0])
		}
	}
}

// A day of lines of eight GPUs: what a parser keeps does not grow.
func TestADay(t *testing.T) {
	p, at := newParser(newPower), time.Now()
	day := func(lines int) uint64 {
		for i := range lines {
			at = at.Add(12500 * time.Microsecond)
			if _, err := p.line(at, []byte{byte('0' + i%8), ',', '9', ',', '9', ',', '9', ',', '9', ',', '9', ',', '9'}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := day(1000)
	if after := day(400_000); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("0, 213.31, 220.02, 97, 61, 1980, 2520")
	f.Add("1, [N/A], 18.20, 0, 35, 210, 2520")
	f.Add("0, nan, 1e400, -0, 0x10, Inf, +5")
	f.Fuzz(func(t *testing.T, line string) {
		samples, _ := newParser(newPower).line(time.Now(), []byte(line))
		for _, x := range samples {
			if x.Value < 0 || math.IsNaN(x.Value) || math.IsInf(x.Value, 0) || x.Source == "" {
				t.Errorf("%q: %+v", line, x)
			}
		}
	})
}
