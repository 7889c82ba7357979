package battery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
)

type sysfs struct {
	root     string
	readFile func(path string) ([]byte, error)
}

// Sysfs returns the source of the Linux machine whose file system begins at
// root, which is "/" but for tests.
func Sysfs(root string) power.Source { return &sysfs{root: root, readFile: os.ReadFile} }

func (*sysfs) Name() string   { return name }
func (*sysfs) OnDemand() bool { return false } // a file read at once, but of a figure that is seconds old
func (*sysfs) Close() error   { return nil }

var (
	errNone  = errors.New("this machine has no battery")
	errMains = errors.New("the machine is on mains power")
)

func (s *sysfs) Probe(context.Context) []power.Channel {
	_, err := s.watts()
	switch {
	case err == nil:
		return []power.Channel{channel("", coarse)}
	case errors.Is(err, errNone):
		return []power.Channel{channel(power.ReasonNoChannel, err.Error())}
	case errors.Is(err, errMains):
		return []power.Channel{channel(power.ReasonNoReading, onMains)}
	case errors.Is(err, os.ErrPermission):
		return []power.Channel{channel(power.ReasonDenied, err.Error()+": run as root")}
	}
	return []power.Channel{channel(power.ReasonNoReading, err.Error())}
}

func (s *sysfs) Read(context.Context) ([]power.Sample, error) {
	w, err := s.watts()
	if err != nil {
		return nil, err
	}
	return []power.Sample{{Source: name, Scope: power.ScopeSystem, Metric: power.MetricPower, Unit: "W", End: time.Now(), Value: w}}, nil
}

// watts adds up the batteries that are being discharged: a machine with two
// empties one after the other. It fails unless they alone feed the machine.
func (s *sysfs) watts() (float64, error) {
	dir := filepath.Join(s.root, "sys/class/power_supply")
	entries, _ := os.ReadDir(dir) // that there is none means that there is no battery
	batteries, discharging := 0, 0
	var sum float64
	for _, e := range entries {
		b := filepath.Join(dir, e.Name())
		switch s.text(b, "type") {
		case "Mains", "USB":
			if s.text(b, "online") == "1" {
				return 0, errMains
			}
		case "Battery":
			if s.text(b, "scope") == "Device" { // a mouse's
				continue
			}
			batteries++
			if s.text(b, "status") != "Discharging" {
				continue
			}
			discharging++
			w, err := s.power(b)
			if err != nil {
				return 0, err
			}
			sum += w
		}
	}
	switch {
	case batteries == 0:
		return 0, errNone
	case discharging == 0:
		return 0, errMains
	case !plausible(sum):
		return 0, fmt.Errorf("the battery says %v W, which is no reading", sum)
	}
	return sum, nil
}

// power is what one battery gives in W: from power_now in µW, or current_now
// in µA times voltage_now in µV. Some drivers count discharge negative.
func (s *sysfs) power(dir string) (float64, error) {
	uw, err := s.number(dir, "power_now")
	if err == nil {
		return math.Abs(uw) / 1e6, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	ua, err := s.number(dir, "current_now")
	if err != nil {
		return 0, err
	}
	uv, err := s.number(dir, "voltage_now")
	if err != nil {
		return 0, err
	}
	return math.Abs(ua) * uv / 1e12, nil
}

func (s *sysfs) text(dir, file string) string {
	b, err := s.readFile(filepath.Join(dir, file))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (s *sysfs) number(dir, file string) (float64, error) {
	path := filepath.Join(dir, file)
	b, err := s.readFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return float64(n), nil
}
