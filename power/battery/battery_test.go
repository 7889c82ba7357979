package battery

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

const class = "sys/class/power_supply/"

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		file := filepath.Join(root, class, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// bat is a battery's files, given as file, text, file, text, …
func bat(name string, pairs ...string) map[string]string {
	f := map[string]string{name + "/type": "Battery", name + "/status": "Discharging"}
	for i := 0; i < len(pairs); i += 2 {
		f[name+"/"+pairs[i]] = pairs[i+1]
	}
	return f
}

func join(trees ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, tree := range trees {
		for k, v := range tree {
			all[k] = v
		}
	}
	return all
}

func TestSysfs(t *testing.T) {
	mouse := bat("hidpp_battery_0", "scope", "Device", "power_now", "1000000")
	unplugged := map[string]string{"AC/type": "Mains", "AC/online": "0"}
	plugged := map[string]string{"AC/type": "Mains", "AC/online": "1"}
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
		why   power.Reason
	}{
		"power":               {join(unplugged, bat("BAT0", "power_now", "12345000")), 12.345, ""},
		"current and voltage": {bat("BAT0", "current_now", "2000000", "voltage_now", "11500000"), 23, ""},
		"negative current":    {bat("BAT1", "current_now", "-2000000", "voltage_now", "11500000"), 23, ""},
		"two, one in use":     {join(bat("BAT0", "status", "Not charging", "power_now", "0"), bat("BAT1", "power_now", "9000000")), 9, ""},
		"two in use":          {join(bat("BAT0", "power_now", "4000000"), bat("BAT1", "power_now", "9000000")), 13, ""},
		"a mouse besides":     {join(mouse, bat("BAT0", "power_now", "5000000")), 5, ""},
		"a mouse alone":       {mouse, 0, power.ReasonNoChannel},
		"none":                {nil, 0, power.ReasonNoChannel},
		"desktop":             {plugged, 0, power.ReasonNoReading},
		"charging":            {bat("BAT0", "status", "Charging", "power_now", "30000000"), 0, power.ReasonNoReading},
		"full":                {bat("BAT0", "status", "Full", "power_now", "0"), 0, power.ReasonNoReading},
		"unknown":             {bat("BAT0", "status", "Unknown", "power_now", "7000000"), 0, power.ReasonNoReading},
		"helps the mains":     {join(plugged, bat("BAT0", "power_now", "7000000")), 0, power.ReasonNoReading},
		"0 W":                 {bat("BAT0", "power_now", "0"), 0, power.ReasonNoReading},
		"absurd":              {bat("BAT0", "power_now", "9223372036854775807"), 0, power.ReasonNoReading},
		"no figure":           {bat("BAT0"), 0, power.ReasonNoReading},
		"no voltage":          {bat("BAT0", "current_now", "1000"), 0, power.ReasonNoReading},
		"text":                {bat("BAT0", "power_now", "unknown"), 0, power.ReasonNoReading},
		"one of two fails":    {join(bat("BAT0", "power_now", "x"), bat("BAT1", "power_now", "9000000")), 0, power.ReasonNoReading},
	} {
		t.Run(name, func(t *testing.T) { check(t, Sysfs(tree(t, c.files)), c.want, c.why) })
	}
}

// check probes and reads: a figure and no reason, or a reason and no figure.
func check(t *testing.T, s power.Source, want float64, why power.Reason) {
	t.Helper()
	got := s.Probe(t.Context())
	if len(got) != 1 || got[0].Missing != why || got[0].Note == "" || got[0].Scope != power.ScopeSystem {
		t.Errorf("%+v, want %q", got, why)
	}
	if why == "" && !strings.Contains(got[0].Note, "coarse") {
		t.Errorf("not labelled: %q", got[0].Note)
	}
	samples, err := s.Read(t.Context())
	if why != "" {
		if samples != nil || err == nil {
			t.Errorf("read %v, %v", samples, err)
		}
		return
	}
	if err != nil || len(samples) != 1 {
		t.Fatalf("%v, %v", samples, err)
	}
	x := samples[0]
	if math.Abs(x.Value-want) > 1e-9 || x.Scope != power.ScopeSystem || x.Unit != "W" || x.End.IsZero() || !x.Start.IsZero() {
		t.Errorf("%+v, want %v W", x, want)
	}
}

func TestSysfsDenied(t *testing.T) {
	s := Sysfs(tree(t, bat("BAT0", "power_now", "1"))).(*sysfs)
	s.readFile = func(path string) ([]byte, error) {
		if strings.HasSuffix(path, "power_now") {
			return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EACCES}
		}
		return os.ReadFile(path)
	}
	if got := s.Probe(t.Context())[0]; got.Missing != power.ReasonDenied {
		t.Errorf("%+v", got)
	}
}

// entry is what ioreg prints, with the given lines.
func entry(lines ...string) string {
	return "+-o AppleSmartBattery  <class AppleSmartBattery, id 0x100000abc, registered, matched, active, busy 0 (0 ms), retain 11>\n" +
		"    {\n      " + strings.Join(lines, "\n      ") + "\n    }\n"
}

const (
	onBattery = `"ExternalConnected" = No`
	telemetry = `"PowerTelemetryData" = {"AccumulatedSystemEnergyConsumed"=915,"SystemLoad"=8123,"SystemPowerIn"=0}`
	amps      = `"InstantAmperage" = 18446744073709550616` // -1000
	volts     = `"Voltage" = 12000`
)

func TestIOReg(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want float64
		why  power.Reason
	}{
		"telemetry":         {entry(onBattery, amps, volts, telemetry), 8.123, ""},
		"current":           {entry(onBattery, amps, volts), 12, ""},
		"mean current":      {entry(onBattery, `"Amperage" = -500`, volts), 6, ""},
		"telemetry of 0":    {entry(onBattery, amps, volts, `"PowerTelemetryData" = {"SystemLoad"=0}`), 12, ""},
		"on mains":          {entry(`"ExternalConnected" = Yes`, amps, volts, telemetry), 0, power.ReasonNoReading},
		"nothing said":      {entry(onBattery), 0, power.ReasonNoReading},
		"charged meanwhile": {entry(onBattery, `"InstantAmperage" = 300`, volts), 0, power.ReasonNoReading},
		"no battery":        {"", 0, power.ReasonNoChannel},
	} {
		t.Run(name, func(t *testing.T) { check(t, IOReg("printf", "%s", c.text), c.want, c.why) })
	}
	check(t, IOReg("/there/is/no/ioreg"), 0, power.ReasonNoChannel)
	check(t, IOReg("false"), 0, power.ReasonNoReading)
}

// One figure read three times is one reading.
func TestIORegIsNotRenewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "entry")
	write := func(updated string) {
		text := entry(onBattery, telemetry, `"UpdateTime" = `+updated)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := IOReg("cat", file).(*ioreg)
	s.pace = 0
	for i, c := range []struct {
		updated string
		n       int
	}{{"1786000000", 1}, {"1786000000", 0}, {"1786000030", 1}} {
		write(c.updated)
		if got, err := s.Read(t.Context()); err != nil || len(got) != c.n {
			t.Errorf("reading %d: %v, %v", i, got, err)
		}
	}
}

func TestIORegKeepsItsPace(t *testing.T) {
	s := IOReg("printf", "%s", entry(onBattery, telemetry))
	for want := 1; want >= 0; want-- {
		if got, err := s.Read(t.Context()); err != nil || len(got) != want {
			t.Errorf("%v, %v", got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(entry(onBattery, amps, volts, telemetry))
	f.Add(entry(onBattery, `"Amperage" = -9223372036854775808`, `"Voltage" = 99999999999999999999`))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if b, err := parse(text); err == nil && (b.watts < 0 || math.IsNaN(b.watts)) {
			t.Errorf("%+v", b)
		}
	})
}
