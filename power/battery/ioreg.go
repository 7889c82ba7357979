package battery

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
	"tokwatt/power/child"
)

type ioreg struct {
	command []string
	pace    time.Duration // ioreg is run no more often
	asked   time.Time     // when it was last run by Read
	updated int64         // UpdateTime of the reading before
}

// IOReg returns the source of a Mac's battery; the command prints the registry
// entry of AppleSmartBattery.
func IOReg(command ...string) power.Source { return &ioreg{command: command, pace: pace} }

func (*ioreg) Name() string   { return name }
func (*ioreg) OnDemand() bool { return false } // the figure is seconds old
func (*ioreg) Close() error   { return nil }

const (
	patience = 2 * time.Second // bounds one run of ioreg, which takes some 20 ms
	pace     = 5 * time.Second // costs less than the figure is worth
)

func (s *ioreg) fetch(ctx context.Context) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := child.Run(ctx, s.command...)
	if err != nil {
		return state{}, err
	}
	return parse(string(out))
}

func (s *ioreg) Probe(ctx context.Context) []power.Channel {
	b, err := s.fetch(ctx)
	switch {
	case errors.Is(err, errNone), errors.Is(err, os.ErrNotExist):
		return []power.Channel{channel(power.ReasonNoChannel, err.Error())}
	case err != nil:
		return []power.Channel{channel(power.ReasonNoReading, err.Error())}
	case !b.discharging:
		return []power.Channel{channel(power.ReasonNoReading, onMains)}
	case !plausible(b.watts):
		return []power.Channel{channel(power.ReasonNoReading, "the battery tells no power")}
	}
	return []power.Channel{channel("", coarse)}
}

// Read runs ioreg, and gives a sample where the battery has a new figure: the
// same one read twice is one reading. Called more often than every five
// seconds it gives none.
func (s *ioreg) Read(ctx context.Context) ([]power.Sample, error) {
	if !s.asked.IsZero() && time.Since(s.asked) < s.pace {
		return nil, nil
	}
	s.asked = time.Now()
	b, err := s.fetch(ctx)
	switch {
	case err != nil:
		return nil, err
	case !b.discharging:
		return nil, errMains
	case !plausible(b.watts):
		return nil, errors.New("the battery tells no power")
	case b.updated != 0 && b.updated == s.updated:
		return nil, nil
	}
	s.updated = b.updated
	return []power.Sample{{Source: name, Scope: power.ScopeSystem, Metric: power.MetricPower, Unit: "W", End: time.Now(), Value: b.watts}}, nil
}

// state is what matters of the registry entry.
type state struct {
	discharging bool
	watts       float64 // 0: not told
	updated     int64   // s since 1970; 0: not told
}

// parse reads the text form of the entry: lines like
//
//	"ExternalConnected" = No
//	"PowerTelemetryData" = {"SystemLoad"=8123,"SystemPowerIn"=0}
//
// What the machine draws is SystemLoad in mW; older systems have the battery's
// current in mA, printed as an unsigned number of 64 bits, and voltage in mV.
func parse(text string) (state, error) {
	if !strings.Contains(text, "AppleSmartBattery") {
		return state{}, errNone
	}
	var b state
	b.discharging = strings.Contains(text, `"ExternalConnected" = No`)
	b.updated, _ = field(updateTime, text)
	if mw, ok := field(systemLoad, text); ok && mw > 0 {
		b.watts = float64(mw) / 1e3
		return b, nil
	}
	ma, ok := field(instantAmperage, text)
	if !ok {
		ma, ok = field(amperage, text)
	}
	mv, has := field(voltage, text)
	if ok && has && ma < 0 && mv > 0 {
		b.watts = -float64(ma) * float64(mv) / 1e6
	}
	return b, nil
}

var (
	updateTime      = regexp.MustCompile(`"UpdateTime" = (\d+)`)
	systemLoad      = regexp.MustCompile(`"SystemLoad"=(\d+)`)
	instantAmperage = regexp.MustCompile(`"InstantAmperage" = (-?\d+)`)
	amperage        = regexp.MustCompile(`"Amperage" = (-?\d+)`)
	voltage         = regexp.MustCompile(`"Voltage" = (\d+)`)
)

// field finds a number of 64 bits, printed with a sign or as the unsigned
// number of the same bits.
func field(pattern *regexp.Regexp, text string) (int64, bool) {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	return int64(n), err == nil
}
