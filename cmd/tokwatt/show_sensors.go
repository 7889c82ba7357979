package main

import (
	"fmt"
	"slices"
	"strings"

	"tokwatt/collect"
)

// sensorLines say what was read of each machine, and of what was not, why. What
// a source says the same of in several segments is said once.
func sensorLines(all []*collect.Sensors) []string {
	var out []string
	add := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, s := range all {
		for _, where := range machines(s) {
			if read := quantities(s, where, ""); read != "" {
				add(fmt.Sprintf("%s: %s, every %s s", where, read, sig(float64(s.EveryNS)/1e9)))
			}
			for _, why := range misses(s, where) {
				text := fmt.Sprintf("%s: no %s (%s)", where, quantities(s, where, why.Missing), why.Missing)
				if why.Note != "" {
					text += ": " + why.Note
				}
				add(text)
			}
		}
	}
	return out
}

// machines are the sources with their machine, "rapl on mac-1".
func machines(s *collect.Sensors) []string {
	var out []string
	for i := range s.Channels {
		if w := machine(&s.Channels[i]); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func machine(c *collect.Channel) string {
	if c.Node == "" {
		return c.Source
	}
	return c.Source + " on " + c.Node
}

// misses has a channel for each reason why some can't be read.
func misses(s *collect.Sensors, where string) []*collect.Channel {
	var out []*collect.Channel
	for i := range s.Channels {
		c := &s.Channels[i]
		known := slices.ContainsFunc(out, func(o *collect.Channel) bool { return o.Missing == c.Missing })
		if machine(c) == where && c.Missing != "" && !known {
			out = append(out, c)
		}
	}
	return out
}

// quantities names the channels of a machine with a reason; without one those
// that can be read.
func quantities(s *collect.Sensors, where, missing string) string {
	var out []string
	for i := range s.Channels {
		c := &s.Channels[i]
		name := strings.TrimSpace(c.Scope + " " + strings.ReplaceAll(c.Metric, "_", " "))
		if machine(c) == where && c.Missing == missing && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}
