package host

import (
	"io/fs"
	"path"
	"strings"

	"tokwatt/collect"
)

// linux is the root of a Linux machine's file system.
type linux struct{ root fs.FS }

func (l linux) describe() collect.Host {
	chip, cores := parseCPUInfo(l.read("proc/cpuinfo"))
	name, version := parseOSRelease(l.read("etc/os-release"))
	return collect.Host{
		Chip:      chip,
		CPUCores:  cores,
		RAMBytes:  parseMemTotal(l.read("proc/meminfo")),
		OSName:    name,
		OSVersion: version,
		PowerMode: l.powerMode(),
		OnBattery: l.onBattery(),
	}
}

func (l linux) bootID() string { return l.read("proc/sys/kernel/random/boot_id") }

// read returns a file's text, "" where there is none.
func (l linux) read(name string) string {
	b, err := fs.ReadFile(l.root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// powerMode is the firmware's profile, else how the first core's clock is
// governed.
func (l linux) powerMode() string {
	if p := l.read("sys/firmware/acpi/platform_profile"); p != "" {
		return p
	}
	return l.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

// onBattery is false where a supply from the mains is online, true where one
// is there and none is online or a battery of the machine discharges, nil
// where there is neither: a desktop or a virtual machine.
func (l linux) onBattery() *bool {
	const dir = "sys/class/power_supply"
	supplies, err := fs.ReadDir(l.root, dir)
	if err != nil {
		return nil
	}
	known, online, discharging := false, false, false
	for _, s := range supplies {
		at := path.Join(dir, s.Name())
		if l.read(path.Join(at, "scope")) == "Device" {
			continue // of a mouse or keyboard
		}
		switch l.read(path.Join(at, "type")) {
		case "Mains", "USB":
			if state := l.read(path.Join(at, "online")); state != "" {
				known = true
				online = online || state == "1"
			}
		case "Battery":
			known = true
			discharging = discharging || l.read(path.Join(at, "status")) == "Discharging"
		}
	}
	if !known {
		return nil
	}
	on := !online && discharging
	return &on
}

// parseCPUInfo reads the model and the number of physical cores; where the
// kernel does not tell cores from threads, as on ARM, it counts processors.
func parseCPUInfo(text string) (model string, cores *int64) {
	distinct := map[string]bool{}
	processors := int64(0)
	socket := ""
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "processor":
			processors++
		case "model name":
			model = value
		case "physical id":
			socket = value
		case "core id":
			distinct[socket+"/"+value] = true
		}
	}
	n := int64(len(distinct))
	if n == 0 {
		n = processors
	}
	if n == 0 {
		return model, nil
	}
	return model, &n
}

// parseMemTotal reads /proc/meminfo: what the kernel manages, in bytes.
func parseMemTotal(text string) *int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			n := number(f[1])
			if n != nil {
				*n *= 1024
			}
			return n
		}
	}
	return nil
}

// parseOSRelease reads NAME and VERSION_ID of /etc/os-release.
func parseOSRelease(text string) (name, version string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch key {
		case "NAME":
			name = value
		case "VERSION_ID":
			version = value
		}
	}
	if name == "" {
		name = "Linux"
	}
	return name, version
}
