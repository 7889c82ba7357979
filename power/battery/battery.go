// Package battery reads what a laptop's battery gives, which on battery power
// is what the whole machine draws.
//
// It is the coarsest of all sources: its firmware renews the figure every 1 to
// 30 s, display and radios are in it, and on mains power it says nothing. Use
// it only where no other source can be read; whoever chooses the sources sees
// to that, this package does not know of the others. Every channel's note
// says "coarse".
//
//   - [Sysfs]: Linux, /sys/class/power_supply (sysfs.go).
//   - [IOReg]: macOS, what ioreg prints of AppleSmartBattery (ioreg.go).
//
// Both give one channel: power of the system in W, readings of an instant, and
// only while the battery is what feeds the machine.
package battery

import (
	"runtime"

	"tokwatt/power"
)

const name = "battery"

// New returns the source for the system that this program runs on.
func New() power.Source {
	if runtime.GOOS == "darwin" {
		return IOReg("/usr/sbin/ioreg", "-r", "-c", "AppleSmartBattery", "-d", "1", "-w", "0")
	}
	return Sysfs("/")
}

func channel(missing power.Reason, note string) power.Channel {
	return power.Channel{Source: name, Scope: power.ScopeSystem, Metric: power.MetricPower, Unit: "W", Missing: missing, Note: note}
}

// coarse is the note of a battery that can be read.
const coarse = "coarse: renewed every 1 to 30 s, and display and radios are in it"

// onMains is the note of one that can't, but will be when it is unplugged.
const onMains = "coarse, and on mains power a battery says nothing of what the machine draws: unplug it"

// plausible bounds what a laptop draws, in W; firmware that has no figure says
// 0 or something absurd.
func plausible(w float64) bool { return w > 0 && w < 1000 }
