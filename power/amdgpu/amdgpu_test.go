package amdgpu

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tokwatt/power"
)

const drm = "sys/class/drm/"

// older is a card of the drivers that call it power1_average.
func older() map[string]string {
	return map[string]string{
		drm + "card0-DP-1/status":                        "connected\n",
		drm + "renderD128/dev":                           "226:128\n",
		drm + "card0/device/gpu_busy_percent":            "97\n",
		drm + "card0/device/hwmon/hwmon3/name":           "amdgpu\n",
		drm + "card0/device/hwmon/hwmon3/power1_average": "213000000\n",
		drm + "card0/device/hwmon/hwmon3/temp1_input":    "61500\n",
		drm + "card0/device/hwmon/hwmon3/freq1_input":    "2105000000\n",
		drm + "card0/device/hwmon/hwmon3/in0_label":      "vddgfx\n",
		drm + "card0/device/hwmon/hwmon3/energy1_input":  "1\n",
		drm + "card2/device/hwmon/hwmon7/name":           "i915\n",
		drm + "card2/device/hwmon/hwmon7/power1_max":     "1\n",
		"sys/class/hwmon/hwmon0/name":                    "k10temp\n",
	}
}

// newer is an APU of the drivers that call it power1_input.
func newer() map[string]string {
	return map[string]string{
		drm + "card1/device/gpu_busy_percent":          "0\n",
		drm + "card1/device/hwmon/hwmon4/name":         "amdgpu\n",
		drm + "card1/device/hwmon/hwmon4/power1_input": "55001000\n",
		drm + "card1/device/hwmon/hwmon4/temp1_input":  "48000\n",
		drm + "card1/device/hwmon/hwmon4/in1_label":    "vddnb\n",
	}
}

func source(t *testing.T, trees ...map[string]string) *Source {
	t.Helper()
	root := t.TempDir()
	for _, files := range trees {
		for path, text := range files {
			file := filepath.Join(root, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return New(root)
}

type key struct {
	source string
	scope  power.Scope
	metric power.Metric
}

func read(t *testing.T, s *Source) map[key]float64 {
	t.Helper()
	samples, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[key]float64{}
	for _, x := range samples {
		if x.Unit == "" || x.End.IsZero() || !x.Start.IsZero() {
			t.Errorf("%+v", x)
		}
		got[key{x.Source, x.Scope, x.Metric}] = x.Value
	}
	return got
}

func TestRead(t *testing.T) {
	s := source(t, older(), newer())
	s.Probe(t.Context())
	want := map[key]float64{
		{"amdgpu:0", "gpu", "power"}:       213,
		{"amdgpu:0", "gpu", "usage"}:       0.97,
		{"amdgpu:0", "gpu", "temperature"}: 61.5,
		{"amdgpu:0", "gpu", "frequency"}:   2105,
		{"amdgpu:1", "soc", "power"}:       55.001,
		{"amdgpu:1", "gpu", "usage"}:       0,
		{"amdgpu:1", "gpu", "temperature"}: 48,
	}
	got := read(t, s)
	for k, v := range want {
		if g, ok := got[k]; !ok || math.Abs(g-v) > 1e-9 {
			t.Errorf("%v: %v, want %v", k, g, v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}

func TestProbe(t *testing.T) {
	still := older()
	still[drm+"card0/device/hwmon/hwmon3/power1_average"] = "0\n"
	odd := older()
	odd[drm+"card0/device/hwmon/hwmon3/temp1_input"] = "511000\n"
	odd[drm+"card0/device/gpu_busy_percent"] = "200\n"
	for name, c := range map[string]struct {
		files   map[string]string
		missing map[power.Metric]power.Reason
		n       int
	}{
		"none":        {nil, map[power.Metric]power.Reason{"power": "no_channel"}, 1},
		"all":         {older(), nil, 4},
		"no clock":    {newer(), map[power.Metric]power.Reason{"frequency": "no_channel"}, 4},
		"0 W":         {still, map[power.Metric]power.Reason{"power": "no_reading"}, 4},
		"no readings": {odd, map[power.Metric]power.Reason{"temperature": "no_reading", "usage": "no_reading"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			got := source(t, c.files).Probe(t.Context())
			if len(got) != c.n {
				t.Errorf("%d channels, want %d", len(got), c.n)
			}
			for _, ch := range got {
				if ch.Missing != c.missing[ch.Metric] || ch.Missing != "" && ch.Note == "" {
					t.Errorf("%s: %q (%s), want %q", ch.Metric, ch.Missing, ch.Note, c.missing[ch.Metric])
				}
			}
		})
	}
}

// The driver refuses to read a card that sleeps.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		why  error
		want power.Reason
	}{{syscall.EACCES, "denied"}, {syscall.EINVAL, "no_reading"}, {syscall.ENODATA, "no_reading"}} {
		s := source(t, newer())
		s.readFile = func(path string) ([]byte, error) {
			if strings.HasSuffix(path, "power1_input") {
				return nil, &os.PathError{Op: "read", Path: path, Err: c.why}
			}
			return os.ReadFile(path)
		}
		if got := s.Probe(t.Context())[0]; got.Missing != c.want {
			t.Errorf("%v: %q, %q", c.why, got.Missing, got.Note)
		}
	}
}

// A file that fails later is left out; when all fail the error says so.
func TestReadFails(t *testing.T) {
	s := source(t, older())
	if _, err := s.Read(t.Context()); err == nil {
		t.Error("read before it was probed")
	}
	s.Probe(t.Context())
	if err := os.Remove(filepath.Join(s.root, drm, "card0/device/gpu_busy_percent")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s); len(got) != 3 {
		t.Errorf("%v", got)
	}
	if err := os.RemoveAll(filepath.Join(s.root, "sys")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(t.Context()); got != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"213000000\n", "0", "-5", "", "nan", "9223372036854775807"} {
		f.Add([]byte(s))
	}
	x := sensor{scale: 1e-6, least: math.SmallestNonzeroFloat64, most: math.MaxFloat64}
	f.Fuzz(func(t *testing.T, text []byte) {
		if v, err := x.parse(text); err == nil && (math.IsNaN(v) || v <= 0) {
			t.Errorf("%q is %v W", text, v)
		}
	})
}
