package rapl

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tokwatt/power"
)

// tree writes files below a new root and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		put(t, filepath.Join(root, path), text)
	}
	return root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const class = "sys/class/powercap/"

// zoneFiles are those of one zone; the range is that of most servers.
func zoneFiles(files map[string]string, dir, label string, uj uint64) {
	files[class+dir+"/name"] = label + "\n"
	files[class+dir+"/energy_uj"] = strconv.FormatUint(uj, 10) + "\n"
	files[class+dir+"/max_energy_range_uj"] = "262143328850\n"
}

// server has two sockets with their memory, client one with psys; both have
// what must be left out.
func server() map[string]string {
	f := map[string]string{class + "intel-rapl/enabled": "1\n"}
	zoneFiles(f, "intel-rapl:0", "package-0", 5_000_000)
	zoneFiles(f, "intel-rapl:0:0", "dram", 1_000_000)
	zoneFiles(f, "intel-rapl:1", "package-1", 7_000_000)
	zoneFiles(f, "intel-rapl:1:0", "dram", 2_000_000)
	zoneFiles(f, "intel-rapl-mmio:0", "package-0", 5_000_000)
	return f
}

func client() map[string]string {
	f := map[string]string{}
	zoneFiles(f, "intel-rapl:0", "package-0", 262_143_000_000)
	zoneFiles(f, "intel-rapl:0:0", "core", 3_000_000)
	zoneFiles(f, "intel-rapl:0:1", "uncore", 1_000_000)
	zoneFiles(f, "intel-rapl:1", "psys", 9_000_000)
	return f
}

func amd() map[string]string {
	f := map[string]string{}
	zoneFiles(f, "intel-rapl:0", "package-0", 4_000_000)
	zoneFiles(f, "intel-rapl:0:0", "core", 3_000_000)
	return f
}

const hypervisor = "processor\t: 0\nflags\t\t: fpu vme sse4_2 hypervisor lahf_lm\n"

// with overlays files on others.
func with(files map[string]string, more map[string]string) map[string]string {
	for path, text := range more {
		files[path] = text
	}
	return files
}

func TestProbe(t *testing.T) {
	dies := map[string]string{}
	zoneFiles(dies, "intel-rapl:0", "package-0-die-0", 1_000_000)
	zoneFiles(dies, "intel-rapl:1", "package-0-die-1", 2_000_000)
	noRange := server()
	delete(noRange, class+"intel-rapl:1/max_energy_range_uj")
	still := amd()
	still[class+"intel-rapl:0/energy_uj"] = "0\n"
	none := power.ReasonNoChannel
	for name, c := range map[string]struct {
		files    map[string]string
		pkg      power.Reason
		dram     power.Reason
		psys     power.Reason
		pkgRange float64
		note     string // of the package
	}{
		"two sockets":       {server(), "", "", none, 0, "2 zones"},
		"client":            {client(), "", none, "", 262143.32885, ""},
		"AMD":               {amd(), "", none, none, 262143.32885, ""},
		"two dies":          {dies, "", none, none, 0, "2 zones"},
		"no powercap":       {nil, none, none, none, 0, "modprobe"},
		"virtual machine":   {map[string]string{"proc/cpuinfo": hypervisor}, "vm", "vm", "vm", 0, "host"},
		"real machine":      {map[string]string{"proc/cpuinfo": "flags : fpu hypervisors\n"}, none, none, none, 0, ""},
		"range unknown":     {noRange, power.ReasonNoReading, "", none, 0, "range"},
		"stands still":      {still, power.ReasonNoReading, none, none, 0, "stands at 0"},
		"still in a VM":     {with(amd(), map[string]string{"proc/cpuinfo": hypervisor, class + "intel-rapl:0/energy_uj": "0"}), "vm", none, none, 0, ""},
		"text in a counter": {with(amd(), map[string]string{class + "intel-rapl:0/energy_uj": "n/a"}), power.ReasonNoReading, none, none, 0, "n/a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(tree(t, c.files)).Probe(t.Context())
			want := map[power.Scope]power.Reason{power.ScopePackage: c.pkg, power.ScopeDRAM: c.dram, power.ScopeSystem: c.psys}
			if len(got) != len(want) {
				t.Fatalf("%d channels", len(got))
			}
			for _, ch := range got {
				if ch.Missing != want[ch.Scope] {
					t.Errorf("%s: %q (%s), want %q", ch.Scope, ch.Missing, ch.Note, want[ch.Scope])
				}
				if ch.Missing == "" && ch.Scope == power.ScopePackage && (ch.Devices == 2) != (c.note == "2 zones") {
					t.Errorf("%d devices", ch.Devices)
				}
				if ch.Missing != "" && ch.Note == "" {
					t.Errorf("%s is missing without a note", ch.Scope)
				}
			}
			if got[0].Range != c.pkgRange || !strings.Contains(got[0].Note, c.note) {
				t.Errorf("range %v, note %q", got[0].Range, got[0].Note)
			}
		})
	}
}

// Container engines cover the folder that the entries link to.
func TestMasked(t *testing.T) {
	root := tree(t, map[string]string{"sys/devices/virtual/powercap/x": "", "proc/cpuinfo": hypervisor})
	if err := os.MkdirAll(filepath.Join(root, class), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, zone := range []string{"intel-rapl:0", "intel-rapl:0:0"} {
		if err := os.Symlink("../../devices/virtual/powercap/intel-rapl/"+zone, filepath.Join(root, class, zone)); err != nil {
			t.Fatal(err)
		}
	}
	s := New(root)
	for _, ch := range s.Probe(t.Context()) {
		if ch.Missing != power.ReasonMasked {
			t.Errorf("%s: %q", ch.Scope, ch.Missing)
		}
	}
	if got, err := s.Read(t.Context()); got != nil || err == nil {
		t.Errorf("Read: %v, %v", got, err)
	}
}

// deny makes a source for which files below a folder have an error of their own.
func deny(t *testing.T, files map[string]string, part string, why error) *Source {
	s := New(tree(t, files))
	s.readFile = func(path string) ([]byte, error) {
		if strings.Contains(path, part) {
			return nil, &os.PathError{Op: "open", Path: path, Err: why}
		}
		return os.ReadFile(path)
	}
	return s
}

func TestDenied(t *testing.T) {
	s := deny(t, server(), "energy_uj", syscall.EACCES)
	for _, ch := range s.Probe(t.Context())[:2] {
		if ch.Missing != power.ReasonDenied || !strings.Contains(ch.Note, "sudo chmod a+r ") {
			t.Errorf("%s: %q, %q", ch.Scope, ch.Missing, ch.Note)
		}
	}
	// One socket's counter denied is the sum denied.
	s = deny(t, server(), "intel-rapl:1/energy_uj", syscall.EACCES)
	got := s.Probe(t.Context())
	if got[0].Missing != power.ReasonDenied || got[1].Missing != "" {
		t.Errorf("package %q, dram %q", got[0].Missing, got[1].Missing)
	}
	s = deny(t, server(), "energy_uj", syscall.ENOENT)
	if got := s.Probe(t.Context()); got[0].Missing != power.ReasonMasked {
		t.Errorf("no energy_uj: %q", got[0].Missing)
	}
}

// values reads once and returns J by scope.
func values(t *testing.T, s *Source) map[power.Scope]float64 {
	t.Helper()
	samples, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[power.Scope]float64{}
	for _, x := range samples {
		if x.Metric != power.MetricEnergy || x.Unit != "J" || x.Source != "rapl" || !x.Start.IsZero() || x.End.IsZero() {
			t.Errorf("%+v", x)
		}
		got[x.Scope] = x.Value
	}
	return got
}

func TestRead(t *testing.T) {
	s := New(tree(t, client()))
	s.Probe(t.Context())
	got := values(t, s)
	if len(got) != 2 || got[power.ScopePackage] != 262143 || got[power.ScopeSystem] != 9 {
		t.Errorf("%v", got)
	}
}

// Sockets wrap one by one; the sum does not.
func TestSumOverWraps(t *testing.T) {
	const span = 262143.328850
	root := tree(t, server())
	s := New(root)
	s.Probe(t.Context())
	var truth [2]float64 // J since the zones' first origins
	start := [2]float64{5, 7}
	first := values(t, s)
	if first[power.ScopePackage] != 12 || first[power.ScopeDRAM] != 3 {
		t.Fatalf("%v", first)
	}
	for i := range 200 {
		for zone, step := range []float64{20000, 33000} {
			truth[zone] += step
			uj := math.Round(1e6 * math.Mod(start[zone]+truth[zone], span))
			put(t, filepath.Join(root, class, "intel-rapl:"+strconv.Itoa(zone), "energy_uj"), strconv.FormatFloat(uj, 'f', 0, 64))
		}
		got := values(t, s)[power.ScopePackage] - first[power.ScopePackage]
		if want := truth[0] + truth[1]; math.Abs(got-want) > 1e-3 {
			t.Fatalf("step %d: %v J, want %v", i, got, want)
		}
	}
}

// A reading of one socket only is none, and not a step of the sum.
func TestOneZoneFails(t *testing.T) {
	root := tree(t, server())
	s := New(root)
	s.Probe(t.Context())
	file := filepath.Join(root, class, "intel-rapl:1/energy_uj")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := values(t, s); len(got) != 1 || got[power.ScopeDRAM] != 3 {
		t.Errorf("%v", got)
	}
	put(t, file, "8000000")
	if got := values(t, s); got[power.ScopePackage] != 13 {
		t.Errorf("%v", got)
	}
	if err := os.RemoveAll(filepath.Join(root, "sys")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(t.Context()); got != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", got, err)
	}
}

// Some 100,000 readings are seven hours at 4 Hz: nothing may be kept of one.
func TestManyReadings(t *testing.T) {
	s := New("/")
	s.readFile = func(string) ([]byte, error) { return []byte("1000000\n"), nil }
	s.rails = []*rail{
		{scope: power.ScopePackage, zones: []*zone{{dir: "a", span: 1}, {dir: "b", span: 1}}},
		{scope: power.ScopeDRAM, zones: []*zone{{dir: "c", span: 1}}},
	}
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
	before := read(1000)
	if after := read(100_000); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func FuzzJoules(f *testing.F) {
	for _, s := range []string{"262143328850\n", "0", "-1", "", "1e6", "18446744073709551616", " 7 "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if j, err := joules(text); err == nil && (j < 0 || math.IsNaN(j) || math.IsInf(j, 0)) {
			t.Errorf("%q is %v J", text, j)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	root := b.TempDir()
	for path, text := range server() {
		file := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	s := New(root)
	s.Probe(b.Context())
	for b.Loop() {
		if _, err := s.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
