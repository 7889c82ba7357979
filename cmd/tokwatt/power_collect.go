package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"tokwatt/power"
	sensors "tokwatt/power/local"
)

// powerNames are the sources that a session's flags ask for: --power, else
// TOKWATT_POWER, which no session keeps.
func powerNames(session options) []string {
	if session["power"] != nil {
		return names(session.list("power")...)
	}
	return names(os.Getenv("TOKWATT_POWER"))
}

// names are the words of lists.
func names(lists ...string) []string {
	return strings.FieldsFunc(strings.Join(lists, ","), func(r rune) bool { return r == ',' || r == ' ' })
}

// openSensors are the sensors of this machine that a session reads. Of those
// that were asked for, tell hears which can't; of those that were not, only
// what the user can mend.
func openSensors(ctx context.Context, session options, tell func(format string, args ...any)) ([]power.Source, error) {
	if session.has("no-system-metrics") {
		return nil, nil
	}
	wanted := powerNames(session)
	sources, err := sensors.Sources(ctx, wanted)
	if err != nil {
		return nil, usagef("--power: %w", err)
	}
	asked := len(wanted) > 0 && wanted[0] != sensors.Auto
	some := false
	var faults []string
	for _, s := range sources {
		channels := s.Probe(ctx)
		if sensors.Readable(channels) {
			some = true
			continue
		}
		i := slices.IndexFunc(channels, func(c power.Channel) bool { return asked || mendable(c.Missing) })
		if i >= 0 {
			faults = append(faults, s.Name()+": "+channels[i].Note)
		}
	}
	if !some || asked {
		for _, f := range faults {
			tell("warning: power is not measured by %s", f)
		}
	}
	return sources, nil
}

// mendable are the reasons that a user can do something about.
func mendable(r power.Reason) bool {
	return r == power.ReasonDenied || r == power.ReasonSudoNeeded || r == power.ReasonMasked
}
