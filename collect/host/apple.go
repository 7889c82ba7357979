package host

import (
	"regexp"
	"strings"

	"tokwatt/collect"
)

// apple is where a Mac's facts come from.
type apple struct {
	sysctl func(name string) string    // its value as text, "" where there is none
	run    func(args ...string) string // a command's standard output, "" where it failed
}

func (a apple) describe() collect.Host {
	batt := a.run("pmset", "-g", "batt")
	return collect.Host{
		// The name that os.Hostname gives follows the network a Mac is in.
		Name:      strings.TrimSpace(a.run("scutil", "--get", "LocalHostName")),
		Chip:      strings.TrimSpace(a.sysctl("machdep.cpu.brand_string")),
		Model:     strings.TrimSpace(a.sysctl("hw.model")),
		CPUCores:  number(a.sysctl("hw.physicalcpu")),
		GPUCores:  parseGPUCores(a.run("ioreg", "-r", "-d", "1", "-c", "AGXAccelerator")),
		RAMBytes:  number(a.sysctl("hw.memsize")),
		OSName:    "macOS",
		OSVersion: strings.TrimSpace(a.sysctl("kern.osproductversion")),
		PowerMode: parsePowerMode(a.run("pmset", "-g")),
		OnBattery: parseOnBattery(batt),
	}
}

var gpuCores = regexp.MustCompile(`"gpu-core-count"\s*=\s*(\d+)`)

// parseGPUCores reads what ioreg says of the GPU.
func parseGPUCores(ioreg string) *int64 {
	m := gpuCores.FindStringSubmatch(ioreg)
	if m == nil {
		return nil
	}
	return number(m[1])
}

// parsePowerMode reads "pmset -g": powermode 0, 1 or 2 where a Mac has a high
// mode, else lowpowermode 0 or 1.
func parsePowerMode(pmset string) string {
	modes := map[string]string{
		"powermode 0": "automatic", "powermode 1": "low", "powermode 2": "high",
		"lowpowermode 0": "automatic", "lowpowermode 1": "low",
	}
	for line := range strings.Lines(pmset) {
		if mode, ok := modes[strings.Join(strings.Fields(line), " ")]; ok {
			return mode
		}
	}
	return ""
}

// parseOnBattery reads the first line of "pmset -g batt". A Mac without a
// battery says that it draws from AC.
func parseOnBattery(pmset string) *bool {
	_, rest, ok := strings.Cut(pmset, "drawing from '")
	if !ok {
		return nil
	}
	source, _, _ := strings.Cut(rest, "'")
	var on bool
	switch source {
	case "AC Power":
	case "Battery Power", "UPS Power":
		on = true
	default:
		return nil
	}
	return &on
}
