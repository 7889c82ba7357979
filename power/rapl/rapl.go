// Package rapl reads the energy counters of Intel's and AMD's processors that
// Linux shows in /sys/class/powercap.
//
// Three scopes, each a counter in J that is read on demand and renewed about
// every millisecond:
//
//   - package: the processor with its cores, caches and built-in GPU. A node's
//     sockets, and the dies of one socket, are disjoint parts of it, so the
//     node's package energy is their sum, given only where all of them could
//     be read in one go (rail.go).
//   - dram: memory, where the processor counts it: Intel's servers do, AMD's
//     don't. On those servers the package does not contain it.
//   - system: psys, the platform as its maker wired it. It contains the
//     package, so the two are never added. It is neither the wall nor sure to
//     contain all: treat it as a lower bound of the machine.
//
// The zones core and uncore are parts of the package and are left out, as is
// the tree intel-rapl-mmio, which shows the package's counter once more.
//
// Counters begin at 0 again after minutes at high power. One zone is given as
// the sensor has it, with its range in Channel.Range; a sum of zones is
// unwrapped here, since zones wrap one by one, and has no range.
package rapl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tokwatt/power"
)

const (
	name    = "rapl"
	refresh = time.Millisecond // Intel's manual: "approximately"
)

// Source reads the counters. It holds no handle between readings.
type Source struct {
	root     string
	readFile func(path string) ([]byte, error)
	rails    []*rail
}

var _ power.Source = (*Source)(nil)

// New returns the source of the machine whose file system begins at root,
// which is "/" but for tests.
func New(root string) *Source { return &Source{root: root, readFile: os.ReadFile} }

// Name is "rapl".
func (s *Source) Name() string { return name }

// OnDemand is true: a reading takes some ten microseconds a zone.
func (s *Source) OnDemand() bool { return true }

// Close has nothing to end.
func (s *Source) Close() error { return nil }

// scopes are what may be found, in the order in which they are reported.
var scopes = []power.Scope{power.ScopePackage, power.ScopeDRAM, power.ScopeSystem}

// Probe looks for zones and reads each once.
func (s *Source) Probe(context.Context) []power.Channel {
	found, hidden := s.zones()
	s.rails = nil
	var channels []power.Channel
	for _, scope := range scopes {
		c := power.Channel{Source: name, Scope: scope, Metric: power.MetricEnergy, Unit: "J", Refresh: refresh}
		zones := found[scope]
		switch {
		case len(zones) > 0:
			r := &rail{scope: scope, zones: zones}
			if c.Missing, c.Note = s.fault(r); c.Missing == "" {
				c.Range, c.Devices, c.Note = r.span(), len(zones), about(r)
				s.rails = append(s.rails, r)
			}
		case hidden:
			c.Missing = power.ReasonMasked
			c.Note = "this container hides /sys/devices/virtual/powercap: run outside it, or mount it into the container"
		default:
			c.Missing, c.Note = s.absent(scope, len(found) > 0)
		}
		channels = append(channels, c)
	}
	return channels
}

var zoneName = regexp.MustCompile(`^intel-rapl:\d+(:\d+)?$`)

// zones returns the zones of each scope, and whether some are shown whose files
// are hidden: container engines cover the folder that the entries link to, so
// the entry is there and what is in it is not.
func (s *Source) zones() (found map[power.Scope][]*zone, hidden bool) {
	class := filepath.Join(s.root, "sys/class/powercap")
	entries, _ := os.ReadDir(class) // that there is none means that there is no zone
	found = map[power.Scope][]*zone{}
	for _, e := range entries {
		if !zoneName.MatchString(e.Name()) {
			continue
		}
		z := &zone{dir: filepath.Join(class, e.Name())}
		label, err := s.readFile(filepath.Join(z.dir, "name"))
		if errors.Is(err, os.ErrNotExist) {
			hidden = true
		}
		if err != nil {
			continue
		}
		if scope, ok := scopeOf(strings.TrimSpace(string(label))); ok {
			z.span, _ = s.number(filepath.Join(z.dir, "max_energy_range_uj")) // 0: not known
			found[scope] = append(found[scope], z)
		}
	}
	return found, hidden
}

// scopeOf tells zones by their names: package-0, package-1-die-0, dram, psys.
func scopeOf(label string) (power.Scope, bool) {
	switch {
	case strings.HasPrefix(label, "package"):
		return power.ScopePackage, true
	case label == "dram":
		return power.ScopeDRAM, true
	case label == "psys":
		return power.ScopeSystem, true
	}
	return "", false
}

// fault says why a rail can't be read, if it can't.
func (s *Source) fault(r *rail) (power.Reason, string) {
	for _, z := range r.zones {
		file := filepath.Join(z.dir, "energy_uj")
		v, err := s.number(file)
		if err == nil && v == 0 { // a counter that counts is not at 0 twice
			time.Sleep(20 * refresh)
			v, err = s.number(file)
		}
		switch {
		case errors.Is(err, os.ErrPermission):
			return power.ReasonDenied, "only root may read the counters: run as root, or until the next boot: sudo chmod a+r " + file
		case errors.Is(err, os.ErrNotExist):
			return power.ReasonMasked, "this container hides " + file + ": run outside it"
		case err != nil:
			return power.ReasonNoReading, fmt.Sprintf("%s can't be read: %v", file, err)
		case v == 0 && s.virtual():
			return power.ReasonVM, "in this virtual machine the counter stands at 0: measure on the host"
		case v == 0:
			return power.ReasonNoReading, file + " stands at 0"
		case z.span == 0 && len(r.zones) > 1:
			return power.ReasonNoReading, "zones can't be added, since the range after which " + z.dir + " begins anew can't be read"
		}
	}
	return "", ""
}

// absent says why there is no zone of a scope, others said whether there are
// zones of other scopes.
func (s *Source) absent(scope power.Scope, others bool) (power.Reason, string) {
	switch {
	case !others && s.virtual():
		return power.ReasonVM, "virtual machines have no energy counters: measure on the host"
	case !others:
		return power.ReasonNoChannel, "there is no intel-rapl zone in /sys/class/powercap: Intel's and AMD's processors under Linux have them (modprobe intel_rapl_msr)"
	case scope == power.ScopeDRAM:
		return power.ReasonNoChannel, "this processor does not count its memory's energy"
	default:
		return power.ReasonNoChannel, "this machine has no psys counter"
	}
}

func about(r *rail) string {
	switch {
	case r.scope == power.ScopeSystem:
		return "psys: the platform as its maker wired it; contains the package"
	case len(r.zones) > 1:
		return fmt.Sprintf("the sum of %d zones", len(r.zones))
	}
	return ""
}

// virtual reports whether the processor says that a hypervisor runs it.
func (s *Source) virtual() bool {
	info, err := s.readFile(filepath.Join(s.root, "proc/cpuinfo"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if key, flags, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			return slices.Contains(strings.Fields(flags), "hypervisor")
		}
	}
	return false
}
