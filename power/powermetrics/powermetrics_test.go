package powermetrics

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"tokwatt/power"
)

const header = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
`

// document writes one as macOS 14 prints it. processor and gpu are what those
// dictionaries hold.
func doc(elapsed time.Duration, top, processor, gpu string) string {
	return fmt.Sprintf("%s<key>is_delta</key><true/>\n<key>elapsed_ns</key><integer>%d</integer>\n<key>hw_model</key><string>Mac14,14</string>\n"+
		"<key>timestamp</key><date>2026-08-10T09:00:01Z</date>\n%s<key>processor</key>\n<dict>\n<key>clusters</key><array><dict><key>name</key><string>E0-Cluster</string>"+
		"<key>freq_hz</key><real>1.1e+09</real><key>idle_ratio</key><real>0.5</real><key>dvfm_states</key><array><dict><key>freq</key><integer>600</integer></dict></array></dict></array>\n"+
		"%s</dict>\n<key>gpu</key>\n<dict>\n%s</dict>\n</dict>\n</plist>\n", header, elapsed.Nanoseconds(), top, processor, gpu)
}

func integer(key string, v int) string {
	return fmt.Sprintf("<key>%s</key><integer>%d</integer>\n", key, v)
}

func rails(cpu, gpu, ane int) string {
	return integer("cpu_energy", cpu) + "<key>cpu_power</key><real>9.9</real>\n" + integer("gpu_energy", gpu) + integer("ane_energy", ane) + "<key>combined_power</key><real>1</real>\n"
}

const (
	nominal = "<key>thermal_pressure</key><string>Nominal</string>\n"
	// The gpu dictionary repeats idle_ns and idle_ratio.
	gpu14 = "<key>freq_hz</key><real>714.836</real><key>idle_ns</key><integer>1</integer><key>idle_ratio</key><real>0.25</real>" +
		"<key>dvfm_states</key><array><dict><key>freq</key><integer>444</integer><key>used_ratio</key><real>0.5</real></dict><dict><key>freq</key><integer>1398</integer></dict></array>" +
		"<key>sw_state</key><array><dict><key>sw_state</key><string>SW_P1</string></dict></array><key>idle_ns</key><integer>2</integer><key>idle_ratio</key><real>0.75</real><key>gpu_energy</key><integer>7</integer>\n"
)

type figures map[string]float64

func said(t *testing.T, samples []power.Sample) figures {
	t.Helper()
	got := figures{}
	for _, x := range samples {
		key := strings.TrimSpace(string(x.Scope) + " " + string(x.Metric))
		if _, twice := got[key]; twice || x.Source != name || x.Unit == "" || math.IsNaN(x.Value) {
			t.Errorf("%+v", x)
		}
		got[key] = x.Value
	}
	return got
}

func same(t *testing.T, what string, got, want figures) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || math.Abs(g-v) > 1e-9 {
			t.Errorf("%s: %s is %v (%t), want %v", what, k, g, ok, v)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: %s is %v, want none", what, k, got[k])
		}
	}
}

func TestDocuments(t *testing.T) {
	const half = 500 * time.Millisecond
	gpu := figures{"gpu usage": 0.75, "gpu frequency": 714.836, "gpu frequency_max": 1398}
	with := func(more figures) figures {
		all := figures{}
		for _, m := range []figures{gpu, more} {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		text string
		want figures
	}{
		"macOS 14":         {doc(half, nominal, rails(2500, 70_000, 0), gpu14), with(figures{"cpu power": 5, "gpu power": 140, "ane power": 0, "soc power": 145, "pressure": 0})},
		"hot":              {doc(half, "<key>thermal_pressure</key><string>Heavy</string>", rails(1000, 1000, 500), gpu14), with(figures{"cpu power": 2, "gpu power": 2, "ane power": 1, "soc power": 5, "pressure": 2})},
		"unknown pressure": {doc(half, "<key>thermal_pressure</key><string>Warm</string>", rails(1000, 1000, 500), ""), figures{"cpu power": 2, "gpu power": 2, "ane power": 1, "soc power": 5}},
		"macOS 12":         {doc(half, "", rails(1000, 1000, 500)+integer("dram_energy", 250)+integer("package_energy", 4000), ""), figures{"cpu power": 2, "gpu power": 2, "ane power": 1, "soc power": 5, "dram power": 0.5, "package power": 8}},
		"powers alone":     {doc(half, "", "<key>cpu_power</key><real>2000.5</real><key>gpu_power</key><real>100</real>", ""), figures{"cpu power": 2.0005, "gpu power": 0.1}},
		"GPU's own energy": {doc(half, "", integer("cpu_energy", 1000), gpu14), with(figures{"cpu power": 2, "gpu power": 0.014})},
		"CPU stands still": {doc(half, "", rails(0, 1000, 0), ""), figures{"gpu power": 2}},
		"Intel":            {doc(half, "", "<key>package_joules</key><real>4.25</real><key>package_watts</key><real>8.53</real>", ""), figures{"package power": 8.5}},
		"GPU rests":        {doc(half, nominal, rails(10, 0, 0), "<key>freq_hz</key><real>0</real><key>idle_ratio</key><real>1</real>"), figures{"cpu power": 0.02, "gpu power": 0, "ane power": 0, "soc power": 0.02, "gpu usage": 0, "pressure": 0}},
		"nonsense":         {doc(half, nominal, integer("cpu_energy", -5)+"<key>gpu_energy</key><real>nan</real><key>ane_energy</key><string>x</string>", "<key>idle_ratio</key><real>3</real>"), figures{"pressure": 0}},
		"with a NUL ahead": {"\x00" + doc(half, nominal, "", ""), figures{"pressure": 0}},
		"invalid=true":     {doc(half, "<key>invalid</key><true/>"+nominal, "", ""), figures{"pressure": 0}},
	} {
		samples, err := new(clock).parse(time.Now(), []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, said(t, samples), c.want)
	}
	vm := strings.Replace(doc(half, nominal, "", ""), "Mac14,14", "VirtualMac2,1", 1)
	for _, text := range []string{"", "powermetrics must be invoked as the superuser", header, vm, doc(0, nominal, rails(1, 1, 1), "")} {
		if got, err := new(clock).parse(time.Now(), []byte(text)); err == nil || got != nil {
			t.Errorf("%.40q: %v, %v", text, got, err)
		}
	}
}

// However the stream is cut into reads, its documents come out whole.
func TestSplit(t *testing.T) {
	stream := doc(1, nominal, rails(1, 2, 3), gpu14) + "\x00" + doc(2, nominal, "", "") + "\x00\n" + doc(3, "", "", "") + "\x00" + doc(4, "", "", "")[:200]
	for _, step := range []int{1, 7, 1 << 20} {
		var elapsed []time.Duration
		records := bufio.NewScanner(&slowly{[]byte(stream), step})
		records.Split(split)
		for records.Scan() {
			d, err := parse(records.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(records.Bytes(), []byte("<?xml")) {
				t.Errorf("%.20q", records.Bytes())
			}
			elapsed = append(elapsed, d.elapsed)
		}
		if fmt.Sprint(elapsed) != "[1ns 2ns 3ns]" || records.Err() != nil {
			t.Errorf("step %d: %v, %v", step, elapsed, records.Err())
		}
	}
}

// slowly gives at most n bytes a read.
type slowly struct {
	b []byte
	n int
}

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.n)], s.b)
	s.b = s.b[n:]
	return n, nil
}

func TestPlace(t *testing.T) {
	const ms = time.Millisecond
	type step struct{ at, elapsed, start, end time.Duration }
	begin := time.Now()
	for name, steps := range map[string][]step{
		"as they come":    {{508, 508, 0, 508}, {1016, 508, 508, 1016}},
		"jitter":          {{510, 508, 2, 510}, {1030, 508, 510, 1018}, {1527, 508, 1018, 1526}},
		"sooner than due": {{530, 508, 22, 530}, {1030, 508, 530, 1030}, {1538, 508, 1030, 1538}},
		"one was lost":    {{508, 508, 0, 508}, {1524, 508, 1016, 1524}},
		"two at once":     {{1100, 508, 592, 1100}, {1100, 508, 1100, 1100}, {1532, 508, 1100, 1532}},
	} {
		c := new(clock)
		for i, s := range steps {
			start, end := c.place(begin.Add(s.at*ms), s.elapsed*ms)
			if a, b := start.Sub(begin), end.Sub(begin); (a-s.start*ms).Abs() > time.Microsecond || (b-s.end*ms).Abs() > time.Microsecond {
				t.Errorf("%s, document %d: %v to %v", name, i, a, b)
			}
		}
	}
}

// Documents whose CPU, ANE and memory are renewed every fourth time.
func TestCountersInBatches(t *testing.T) {
	const elapsed = 508 * time.Millisecond
	c, at := new(clock), time.Now()
	joules := map[power.Scope]float64{}
	feed := func(cpu, gpu, ane int) {
		at = at.Add(elapsed)
		samples, err := c.parse(at, []byte(doc(elapsed, nominal, rails(cpu, gpu, ane), "")))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range samples {
			if x.Metric == power.MetricPower {
				joules[x.Scope] += x.Value * x.End.Sub(x.Start).Seconds()
			}
			if x.Scope == power.ScopeCPU && math.Abs(x.Value-2.5/elapsed.Seconds()) > 1e-6 {
				t.Errorf("%+v", x)
			}
		}
	}
	feed(2500, 10_000, 100)
	for range 10 {
		feed(0, 10_000, 0)
		feed(0, 30_000, 0)
		feed(0, 20_000, 0)
		feed(10_000, 20_000, 400)
	}
	for scope, want := range map[power.Scope]float64{"cpu": 102.5, "gpu": 810, "ane": 4.1, "soc": 102.5 + 810 + 4.1} {
		if math.Abs(joules[scope]-want) > 1e-3 {
			t.Errorf("%s: %v J, want %v", scope, joules[scope], want)
		}
	}
}

// A step of a counter that never moved before, or not for long, says nothing.
func TestStepAfterUnknownTime(t *testing.T) {
	for name, c := range map[string]struct {
		before bool
		stills int
		want   bool
	}{"never moved": {false, 2, false}, "for 11 s": {true, 22, false}, "for 2 s": {true, 4, true}} {
		clk, at := new(clock), time.Now()
		cpu := func(mJ int) bool {
			at = at.Add(500 * time.Millisecond)
			samples, err := clk.parse(at, []byte(doc(500*time.Millisecond, "", rails(mJ, 9, 9), "")))
			if err != nil {
				t.Fatal(err)
			}
			_, ok := said(t, samples)["cpu power"]
			return ok
		}
		if c.before {
			cpu(100)
		}
		for range c.stills {
			if cpu(0) {
				t.Errorf("%s: 0 is a reading", name)
			}
		}
		if cpu(100) != c.want || !cpu(100) {
			t.Errorf("%s: a reading %t", name, !c.want)
		}
	}
}

// A day of documents at 2 Hz, in part: what a clock keeps does not grow.
func TestADay(t *testing.T) {
	c, at := new(clock), time.Now()
	text := []byte(doc(508*time.Millisecond, nominal, rails(2500, 70_000, 0), gpu14))
	run := func(n int) uint64 {
		for range n {
			at = at.Add(508 * time.Millisecond)
			if _, err := c.parse(at, text); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := run(500)
	if after := run(20_000); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(doc(508*time.Millisecond, nominal, rails(2500, 70_000, 0), gpu14)))
	f.Add([]byte("<dict><key>elapsed_ns</key><integer>1</integer><key>processor</key><dict><key>cpu_energy</key><integer>1"))
	f.Add([]byte(strings.Repeat("<dict><key>a</key><array>", 100)))
	f.Add([]byte("</dict></array><key>elapsed_ns<key><integer>9e99</integer>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, at := new(clock), time.Now()
		for range 3 {
			at = at.Add(interval)
			samples, _ := c.parse(at, text)
			for _, x := range samples {
				if !(x.Value >= 0) || math.IsInf(x.Value, 0) || x.Start.After(x.End) || x.End.After(at.Add(time.Millisecond)) {
					t.Errorf("%+v", x)
				}
			}
		}
		split(text, true)
	})
}

func BenchmarkParse(b *testing.B) {
	cluster := strings.Repeat("<dict><key>freq</key><integer>600</integer><key>used_ns</key><integer>1</integer><key>used_ratio</key><real>0.1</real></dict>", 500)
	text := []byte(doc(508*time.Millisecond, nominal, rails(2500, 70_000, 0)+"<key>more</key><array>"+cluster+"</array>", gpu14))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := new(clock).parse(time.Now(), text); err != nil {
			b.Fatal(err)
		}
	}
}
