package host

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"tokwatt/collect"
)

func ptr[T any](v T) *T { return &v }

// files makes a Linux machine of its files.
func files(m map[string]string) linux {
	root := fstest.MapFS{}
	for name, text := range m {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return linux{root}
}

func TestLinux(t *testing.T) {
	got := files(map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD Ryzen 9 7940HS\nphysical id\t: 0\ncore id\t\t: 0\n\n" +
			"processor\t: 1\nmodel name\t: AMD Ryzen 9 7940HS\nphysical id\t: 0\ncore id\t\t: 0\n\n" +
			"processor\t: 2\nmodel name\t: AMD Ryzen 9 7940HS\nphysical id\t: 0\ncore id\t\t: 1\n\n" +
			"processor\t: 3\nmodel name\t: AMD Ryzen 9 7940HS\nphysical id\t: 1\ncore id\t\t: 1\n",
		"proc/meminfo":                        "MemTotal:       32768 kB\nMemFree:        1 kB\n",
		"etc/os-release":                      "PRETTY_NAME=\"Fedora Linux 42\"\nNAME=\"Fedora Linux\"\nVERSION_ID=42\n",
		"sys/firmware/acpi/platform_profile":  "balanced\n",
		"sys/class/power_supply/AC/type":      "Mains\n",
		"sys/class/power_supply/AC/online":    "1\n",
		"sys/class/power_supply/BAT0/type":    "Battery\n",
		"sys/class/power_supply/BAT0/status":  "Charging\n",
		"sys/class/power_supply/mouse/type":   "Battery\n",
		"sys/class/power_supply/mouse/scope":  "Device\n",
		"sys/class/power_supply/mouse/status": "Discharging\n",
	}).describe()
	want := collect.Host{Chip: "AMD Ryzen 9 7940HS", CPUCores: ptr(int64(3)), RAMBytes: ptr(int64(32768 * 1024)),
		OSName: "Fedora Linux", OSVersion: "42", PowerMode: "balanced", OnBattery: ptr(false)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := files(nil).describe(); !reflect.DeepEqual(got, collect.Host{OSName: "Linux"}) {
		t.Errorf("a machine that tells nothing: %+v", got)
	}
}

func TestLinuxBattery(t *testing.T) {
	const dir = "sys/class/power_supply/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  *bool
	}{
		{"unplugged", map[string]string{dir + "AC/type": "Mains", dir + "AC/online": "0", dir + "B/type": "Battery", dir + "B/status": "Discharging"}, ptr(true)},
		{"plugged, but draining", map[string]string{dir + "AC/type": "Mains", dir + "AC/online": "1", dir + "B/type": "Battery", dir + "B/status": "Discharging"}, ptr(false)},
		{"second port", map[string]string{dir + "U1/type": "USB", dir + "U1/online": "0", dir + "U2/type": "USB", dir + "U2/online": "1"}, ptr(false)},
		{"battery alone, full", map[string]string{dir + "B/type": "Battery", dir + "B/status": "Full"}, ptr(false)},
		{"mouse alone", map[string]string{dir + "M/type": "Battery", dir + "M/scope": "Device", dir + "M/status": "Discharging"}, nil},
		{"none", nil, nil},
	} {
		if got := files(c.files).onBattery(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestCPUInfo(t *testing.T) {
	for _, c := range []struct {
		name, text, model string
		cores             *int64
	}{
		{"arm", "processor\t: 0\nBogoMIPS\t: 50.00\n\nprocessor\t: 1\nBogoMIPS\t: 50.00\n", "", ptr(int64(2))},
		{"empty", "", "", nil},
		{"no colon", "nonsense\n", "", nil},
	} {
		model, cores := parseCPUInfo(c.text)
		if model != c.model || !reflect.DeepEqual(cores, c.cores) {
			t.Errorf("%s: %q, %v", c.name, model, cores)
		}
	}
}

func TestMemTotal(t *testing.T) {
	for text, want := range map[string]*int64{
		"MemTotal: 1 kB\n": ptr(int64(1024)), "MemTotal: x kB\n": nil, "MemFree: 1 kB\n": nil, "MemTotal: 1 MB\n": nil, "": nil,
	} {
		if got := parseMemTotal(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

const ioreg = `+-o AGXAcceleratorG15X  <class AGXAcceleratorG15X, id 0x100000a5c, registered, matched, active, busy 0 (0 ms), retain 96>
    {
      "IOClass" = "AGXAcceleratorG15X"
      "model" = "Apple M3 Max"
      "gpu-core-count" = 40
      "MetalPluginName" = "AGXMetalG15X_C0"
    }
`

const pmset = `System-wide power settings:
 SleepDisabled		0
Currently in use:
 standby              1
 powermode            2
 womp                 1
 sleep                1 (sleep prevented by caffeinate)
`

func TestApple(t *testing.T) {
	sysctls := map[string]string{"machdep.cpu.brand_string": "Apple M3 Max", "hw.model": "Mac15,9", "hw.physicalcpu": "16",
		"hw.memsize": "137438953472", "kern.osproductversion": "15.5"}
	outputs := map[string]string{
		"scutil --get LocalHostName":      "Studio-1\n",
		"ioreg -r -d 1 -c AGXAccelerator": ioreg,
		"pmset -g":                        pmset,
		"pmset -g batt":                   "Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t100%; charged; 0:00 remaining present: true\n",
	}
	got := apple{
		sysctl: func(name string) string { return sysctls[name] },
		run:    func(args ...string) string { return outputs[strings.Join(args, " ")] },
	}.describe()
	want := collect.Host{Name: "Studio-1", Chip: "Apple M3 Max", Model: "Mac15,9", CPUCores: ptr(int64(16)), GPUCores: ptr(int64(40)),
		RAMBytes: ptr(int64(128 << 30)), OSName: "macOS", OSVersion: "15.5", PowerMode: "high", OnBattery: ptr(false)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	none := func(...string) string { return "" }
	if got := (apple{sysctl: func(string) string { return "" }, run: none}).describe(); !reflect.DeepEqual(got, collect.Host{OSName: "macOS"}) {
		t.Errorf("a Mac that tells nothing: %+v", got)
	}
}

func TestPowerMode(t *testing.T) {
	for text, want := range map[string]string{
		" powermode            0\n": "automatic", " powermode 1\n": "low", " lowpowermode         1\n": "low",
		" lowpowermode 0\n": "automatic", " powermode 7\n": "", "": "",
	} {
		if got := parsePowerMode(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestOnBattery(t *testing.T) {
	for text, want := range map[string]*bool{
		"Now drawing from 'Battery Power'\n": ptr(true), "Now drawing from 'AC Power'\n": ptr(false),
		"Now drawing from 'UPS Power'\n": ptr(true), "Now drawing from 'x": nil, "": nil,
	} {
		if got := parseOnBattery(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// On whatever machine the tests run, some facts must be known.
func TestThisMachine(t *testing.T) {
	h := Describe(t.Context())
	if h.Name == "" || h.OSName == "" || h.CPUCores == nil || *h.CPUCores < 1 || h.RAMBytes == nil || *h.RAMBytes < 64<<20 {
		t.Errorf("%+v", h)
	}
	if id := BootID(); id == "" || id != BootID() {
		t.Errorf("boot id %q", id)
	}
}
