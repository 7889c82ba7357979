//go:build nvml && linux

package nvidia

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"tokwatt/power"
)

// build compiles the stand-in for the library.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal("no C compiler to build the stand-in for the library: install gcc")
	case err != nil:
		t.Skip("no C compiler to build the stand-in for the library")
	}
	lib := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	args := append([]string{"-shared", "-fPIC", "-Wall", "-Werror", "-o", lib, "testdata/fakenvml.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return lib
}

func TestNVML(t *testing.T) {
	s := NewNVML(build(t))
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("read before it was probed")
	}
	got := missing(s.Probe(t.Context()))
	want := map[key]power.Reason{
		{"nvidia:0", "energy"}: "", {"nvidia:0", "usage"}: "", {"nvidia:0", "temperature"}: "", {"nvidia:0", "frequency"}: "", {"nvidia:0", "frequency_max"}: "",
		{"nvidia:1", "power"}: "", {"nvidia:1", "usage"}: power.ReasonNoReading, {"nvidia:1", "temperature"}: "", {"nvidia:1", "frequency"}: "", {"nvidia:1", "frequency_max"}: "",
		{"nvidia:2", "power"}: power.ReasonDenied,
	}
	for k, why := range want {
		if g, ok := got[k]; !ok || g != why {
			t.Errorf("%v: %q, %t, want %q", k, g, ok, why)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	var before float64
	for i := range 3 {
		samples, err := s.Read(t.Context())
		if err != nil || len(samples) != 9 {
			t.Fatalf("%v, %v", samples, err)
		}
		energy, watts := samples[0], samples[1]
		if energy.Metric != power.MetricEnergy || energy.Unit != "J" || i > 0 && energy.Value-before != 30 {
			t.Errorf("%+v after %v", energy, before)
		}
		if watts.Source != "nvidia:1" || watts.Metric != power.MetricPower || watts.Value != 61.5 {
			t.Errorf("%+v", watts)
		}
		before = energy.Value
	}
	s.Probe(t.Context()) // starts it once more only after it has stopped it
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// refuse sets what the stand-in's nvmlInit_v2 returns.
func refuse(t *testing.T, lib, code string) {
	t.Helper()
	handle, err := purego.Dlopen(lib, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(code)
	if err != nil {
		t.Fatal(err)
	}
	var set func(code int32)
	purego.RegisterLibFunc(&set, handle, "fake_refuse")
	set(int32(n))
}

func TestNVMLRefuses(t *testing.T) {
	lib := build(t)
	for code, want := range map[string]power.Reason{"4": power.ReasonDenied, "9": power.ReasonNoChannel, "17": power.ReasonMasked, "999": power.ReasonNoReading} {
		refuse(t, lib, code)
		s := NewNVML(lib)
		got := s.Probe(t.Context())
		if len(got) != 1 || got[0].Missing != want || !strings.Contains(got[0].Note, "code "+code) {
			t.Errorf("code %s: %+v, want %q", code, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	refuse(t, lib, "0")
	if got := NewNVML("/there/is/no/lib.so").Probe(t.Context()); got[0].Missing != power.ReasonNoChannel {
		t.Errorf("%+v", got)
	}
	if got := NewNVML(build(t, "-DnvmlDeviceGetMaxClockInfo=gone")).Probe(t.Context()); got[0].Missing != power.ReasonNoChannel || !strings.Contains(got[0].Note, "nvmlDeviceGetMaxClockInfo") {
		t.Errorf("%+v", got)
	}
}

func TestNVMLKeepsNothing(t *testing.T) {
	s := NewNVML(build(t))
	s.Probe(t.Context())
	defer s.Close()
	read := func(n int) uint64 {
		for range n {
			if _, err := s.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := read(100)
	if after := read(20_000); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil || len(fds) > 50 {
		t.Errorf("%d handles, %v", len(fds), err)
	}
}
