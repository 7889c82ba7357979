//go:build iokitfake

package ioreport

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"tokwatt/power"
)

// fake is a Mac's libraries in C, see testdata/fake.c.
type fake struct {
	libraries
	live    func() int32
	fail    func(name string)
	virtual func(on int32)
}

// newFake builds the fake. It lives in this process for good, so its state is
// put back.
func newFake(t testing.TB, flags ...string) *fake {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI has no C compiler (cc), so the binding to macOS isn't tested")
		}
		t.Skip("no C compiler (cc) here: the binding to macOS is not tested")
	}
	so := filepath.Join(t.TempDir(), "libfake.so")
	args := append(flags, "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", so, "testdata/fake.c")
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lib, err := purego.Dlopen(so, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{libraries: libraries{so, so, so, so, so}}
	purego.RegisterLibFunc(&f.live, lib, "fake_live")
	purego.RegisterLibFunc(&f.fail, lib, "fake_fail")
	purego.RegisterLibFunc(&f.virtual, lib, "fake_virtual")
	return f
}

func (f *fake) source() *Source {
	return newSource(func() (*machine, error) { return openNative(f.libraries) })
}

// closed closes a source and fails the test if anything is left.
func (f *fake) closed(t testing.TB, s *Source) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := f.live(); n != 0 {
		t.Errorf("%d objects, handles or pools were not released", n)
	}
}

func TestFakeReadings(t *testing.T) {
	f := newFake(t)
	s := f.source()
	for _, c := range s.Probe(t.Context()) {
		if c.Missing != "" {
			t.Errorf("%s %s is missing: %s, %s", c.Scope, c.Metric, c.Missing, c.Note)
		}
		if c.Metric == power.MetricEnergy && (c.Refresh != 0 || !c.Stamped) {
			t.Errorf("%s is said to be renewed every %v, stamped %t; each reading renews it, and stamps it", c.Scope, c.Refresh, c.Stamped)
		}
	}
	first := readAll(t, s)
	time.Sleep(120 * time.Millisecond)
	second := readAll(t, s)
	fakeEnergies(t, first, second)
	for what, want := range map[string]float64{
		"system power": 62.5, " pressure": 1,
		"cpu temperature": 60, "gpu temperature": 48, // 0 and 5 are not temperatures
		"gpu usage": .75, "gpu frequency": (400 + 2*1400.) / 3, "gpu frequency_max": 1400,
		"cpu usage": (.25 + .5 + .5) / 3, "cpu pcpu_usage": .5, "cpu pcpu_frequency": 2600,
		"cpu ecpu_usage": .25, "cpu ecpu_frequency": 600, "cpu ecpu_frequency_max": 1000,
	} {
		scope, metric, _ := strings.Cut(what, " ")
		got := find(append(first, second...), power.Scope(scope), power.Metric(metric))
		if got == nil || !near(got.Value, want, 1e-4*want) {
			t.Errorf("%s: %+v, want %g", what, got, want)
		}
	}
	f.closed(t, s)
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("a closed source reads on")
	}
}

// fakeEnergies compares the counters of two readings.
func fakeEnergies(t *testing.T, first, second []power.Sample) {
	t.Helper()
	for _, c := range []struct {
		scope  power.Scope
		metric power.Metric
		watts  float64
	}{
		{power.ScopeGPU, power.MetricEnergy, 30}, {power.ScopeCPU, power.MetricEnergy, 10}, {power.ScopeDRAM, power.MetricEnergy, 4},
		{power.ScopeANE, power.MetricEnergy, 0}, {power.ScopeGPU, MetricSRAMEnergy, 0.5},
	} {
		a, b := find(first, c.scope, c.metric), find(second, c.scope, c.metric)
		if a == nil || b == nil {
			t.Errorf("%s %s: no sample", c.scope, c.metric)
			continue
		}
		span := b.End.Sub(a.End).Seconds()
		// A mJ for each channel; 100 µs for the clocks, if we are disturbed.
		slack := 0.002/span + c.watts*1e-4/span
		if w := (b.Value - a.Value) / span; !near(w, c.watts, slack) {
			t.Errorf("%s %s: %g W, want %g ± %g", c.scope, c.metric, w, c.watts, slack)
		}
		if !strings.Contains(b.End.String(), "m=+") || time.Since(b.End) > 10*time.Second {
			t.Errorf("%s: the time of the driver's stamp is %v", c.scope, b.End)
		}
	}
}

// find is the last sample of a channel, nil for none.
func find(samples []power.Sample, scope power.Scope, metric power.Metric) *power.Sample {
	for _, s := range slices.Backward(samples) {
		if s.Scope == scope && s.Metric == metric {
			return &s
		}
	}
	return nil
}

// TestFakeFailures: whatever function fails, the rest is read, what is missing
// says so, and nothing leaks.
func TestFakeFailures(t *testing.T) {
	f := newFake(t)
	for _, c := range []struct {
		name   string
		scope  power.Scope
		metric power.Metric
		reason power.Reason // of that; empty: it is there by another way
	}{
		{"CFArrayCreateMutable", power.ScopeGPU, power.MetricEnergy, power.ReasonNoChannel},
		{"CFDictionaryCreateMutableCopy", power.ScopeGPU, power.MetricEnergy, power.ReasonNoChannel},
		{"IOReportCopyChannelsInGroup", power.ScopeCPU, power.MetricEnergy, power.ReasonNoChannel},
		{"IOReportCreateSubscription", power.ScopeCPU, power.MetricEnergy, power.ReasonNoChannel},
		{"IOReportCreateSamples", power.ScopeDRAM, power.MetricEnergy, power.ReasonNoReading},
		{"IOServiceGetMatchingServices", power.ScopeSystem, power.MetricPower, power.ReasonNoChannel},
		{"IORegistryEntryCreateCFProperties", power.ScopeGPU, power.MetricFrequencyMax, power.ReasonNoChannel},
		{"IOServiceOpen", power.ScopeSystem, power.MetricPower, power.ReasonDenied},
		{"IOServiceOpen", power.ScopeCPU, power.MetricTemperature, ""},
		{"IOConnectCallStructMethod", power.ScopeSystem, power.MetricPower, power.ReasonNoChannel},
		{"PSTR", power.ScopeSystem, power.MetricPower, power.ReasonNoChannel},
		{"notify_register_check", "", power.MetricPressure, power.ReasonNoChannel},
		{"notify_get_state", "", power.MetricPressure, power.ReasonNoReading},
		{"IOHIDEventSystemClientCreate", power.ScopeCPU, power.MetricTemperature, ""},
		{"IOHIDEventSystemClientCopyServices", power.ScopeCPU, power.MetricTemperature, ""},
	} {
		f.fail(c.name)
		s := f.source()
		i := slices.IndexFunc(s.Probe(t.Context()), func(ch power.Channel) bool { return ch.Scope == c.scope && ch.Metric == c.metric })
		if i < 0 {
			t.Errorf("%s fails: Probe says nothing of %s %s", c.name, c.scope, c.metric)
		} else if ch := s.Probe(t.Context())[i]; ch.Missing != c.reason || (ch.Note == "") != (c.reason == "") {
			t.Errorf("%s fails: %s %s is missing for %q (%s), want %q", c.name, c.scope, c.metric, ch.Missing, ch.Note, c.reason)
		}
		samples, err := s.Read(t.Context())
		if err != nil || (find(samples, c.scope, c.metric) == nil) != (c.reason != "") {
			t.Errorf("%s fails: %v, sample of %s %s: %v", c.name, err, c.scope, c.metric, find(samples, c.scope, c.metric))
		}
		f.closed(t, s)
	}
	f.fail("")
}

// TestFakeHID: without temperatures in the SMC, those of HID.
func TestFakeHID(t *testing.T) {
	f := newFake(t)
	f.fail("IOServiceOpen")
	s := f.source()
	samples, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cpu, gpu := find(samples, power.ScopeCPU, power.MetricTemperature), find(samples, power.ScopeGPU, power.MetricTemperature)
	if cpu == nil || gpu == nil || cpu.Value != 50 || gpu.Value != 41.5 {
		t.Errorf("CPU %+v, GPU %+v; want 50 and 41.5", cpu, gpu)
	}
	f.closed(t, s)
}

func TestFakeVirtualMachine(t *testing.T) {
	f := newFake(t)
	f.virtual(1)
	s := f.source()
	for _, c := range s.Probe(t.Context()) {
		if want := power.ReasonVM; c.Metric != power.MetricPressure && c.Missing != want {
			t.Errorf("%s %s: missing for %q, want %q", c.Scope, c.Metric, c.Missing, want)
		}
	}
	f.closed(t, s)
}

// TestFakeSymbols: a function that a release of macOS no longer has is an
// error that names it, and all the rest goes on.
func TestFakeSymbols(t *testing.T) {
	f := newFake(t, "-DWITHOUT_RESIDENCY")
	s := f.source()
	c := s.Probe(t.Context())[0]
	if c.Missing != power.ReasonNoChannel || !strings.Contains(c.Note, "IOReportStateGetResidency") {
		t.Errorf("missing for %q: %q", c.Missing, c.Note)
	}
	samples, err := s.Read(t.Context())
	if err != nil || find(samples, power.ScopeSystem, power.MetricPower) == nil {
		t.Errorf("no power of the system: %v, %v", samples, err)
	}
	f.closed(t, s)

	f.coreFoundation = filepath.Join(t.TempDir(), "nowhere.dylib")
	s = f.source()
	for _, c := range s.Probe(t.Context()) {
		if c.Missing != power.ReasonNoChannel || !strings.Contains(c.Note, f.coreFoundation) {
			t.Errorf("%s %s: missing for %q: %q", c.Scope, c.Metric, c.Missing, c.Note)
		}
	}
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("it reads without a library")
	}
	f.closed(t, s)
}

// TestFakeLeaks: 10,000 readings leave nothing in the library and grow nothing
// in Go.
func TestFakeLeaks(t *testing.T) {
	f := newFake(t)
	s := f.source()
	s.Probe(t.Context())
	settled, before := int32(0), uint64(0)
	for i := range 10000 {
		if _, err := s.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 100 {
			settled, before = f.live(), heap()
		}
	}
	if n := f.live(); n != settled {
		t.Errorf("the library has %d objects after 10,000 readings, %d after 100", n, settled)
	}
	if after := heap(); after > before+64<<10 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
	f.closed(t, s)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFakeGuards: the fake itself notices misuse.
func TestFakeGuards(t *testing.T) {
	if os.Getenv("FAKE_MISUSE") != "" {
		misuse(t, os.Getenv("FAKE_MISUSE"))
		return
	}
	for name, want := range map[string]string{
		"kind":     "IOReportCreateSamples: an object of kind",
		"argument": "IOReportCopyChannelsInGroup: wrong zero",
		"get rule": "CFRelease of what came from a Get function",
		"twice":    "CFRelease of a dead object",
		"pool":     "IOReportCreateSamples: wrong pool",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFakeGuards$")
		cmd.Env = append(os.Environ(), "FAKE_MISUSE="+name)
		if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s: %v, no %q in its output", name, err, want)
		}
	}
}

func misuse(t *testing.T, how string) {
	f := newFake(t)
	cf, err := newCoreFoundation(f.libraries)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClock(f.libraries)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReports(f.libraries, cf, c)
	if err != nil {
		t.Fatal(err)
	}
	switch how {
	case "kind":
		r.sample.call(r.subscribed, r.subscription, 0)
	case "argument":
		r.copyGroup.call(r.keyRaw, 0, 0, 1, 0)
	case "get rule":
		cf.drop(r.name.call(cf.arrayAt.call(cf.get(r.subscribed, r.keyChannels), 0)))
	case "twice":
		cf.drop(r.keyRaw, r.keyRaw)
	case "pool":
		r.sample.call(r.subscription, r.subscribed, 0)
	}
}

// TestSMCLayout pins the struct to the layout that the driver takes.
func TestSMCLayout(t *testing.T) {
	var d smcData
	got := []uintptr{unsafe.Sizeof(d), unsafe.Offsetof(d.version), unsafe.Offsetof(d.limits), unsafe.Offsetof(d.info), unsafe.Offsetof(d.result), unsafe.Offsetof(d.data8), unsafe.Offsetof(d.data32), unsafe.Offsetof(d.bytes)}
	if want := []uintptr{80, 4, 12, 28, 40, 42, 44, 48}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStampOf: an element that isn't as we know it has no stamp.
func TestStampOf(t *testing.T) {
	element := func(change func(b []byte)) []byte {
		b := make([]byte, 64)
		b[16] = 1
		binary.NativeEndian.PutUint64(b[24:], 4711)
		binary.NativeEndian.PutUint64(b[32:], 99)
		change(b)
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want uint64
	}{
		"as known":      {element(func([]byte) {}), 4711},
		"other value":   {element(func(b []byte) { b[32]++ }), 0},
		"no counter":    {element(func(b []byte) { b[16] = 2 }), 0},
		"shorter":       {element(func([]byte) {})[:63], 0},
		"not there":     {nil, 0},
		"several of it": {append(element(func([]byte) {}), 1, 2, 3), 4711},
	} {
		if got := stampOf(c.b, 99); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// BenchmarkFakeRead is what our part of a reading costs: all of it but what
// the real drivers do.
func BenchmarkFakeRead(b *testing.B) {
	f := newFake(b)
	s := f.source()
	s.Probe(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	f.closed(b, s)
}
