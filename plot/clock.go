package plot

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"tokwatt/analyze"
)

// clock places the segments of a session on one axis of seconds since the
// first began. A pause between two segments that would leave them little room
// is cut short.
type clock struct {
	offset map[int64]float64 // s, of a segment's origin
	cuts   []cut
}

type cut struct {
	at    float64       // on the axis
	pause time.Duration // as long as it was
}

// stretch is the time that something takes on the axis.
type stretch struct{ from, to float64 }

func (s stretch) length() float64 { return s.to - s.from }

func (s stretch) with(o stretch) stretch {
	return stretch{math.Min(s.from, o.from), math.Max(s.to, o.to)}
}

// nothing is the stretch that any other makes longer.
func nothing() stretch { return stretch{math.Inf(1), math.Inf(-1)} }

// newClock lays the segments one behind the other. used is when something
// happened in each, in seconds from its origin.
func newClock(segments []analyze.PowerSegment, used map[int64]stretch) clock {
	const room = 0.03 // of all the rest, for a pause that is cut
	total := 0.0
	for _, u := range used {
		total += u.length()
	}
	c := clock{offset: map[int64]float64{}}
	end, first := math.Inf(-1), true
	for _, s := range segments {
		u, ok := used[s.Segment]
		if !ok {
			continue
		}
		at := s.StartedAt.Sub(segments[0].StartedAt).Seconds()
		if first {
			end, first = at+u.from, false
		}
		switch pause, least := at+u.from-end, room*total; {
		case pause > 5*least && pause > 60:
			c.cuts = append(c.cuts, cut{end + least/2, time.Duration(pause * float64(time.Second))})
			at = end + least - u.from
		case pause < 0:
			at = end + least - u.from // the wall clock was set back
		}
		c.offset[s.Segment] = at
		end = at + u.to
	}
	return c
}

func (c clock) at(segment, ns int64) float64 { return c.offset[segment] + float64(ns)/1e9 }

// note says what was cut.
func (c clock) note() string {
	if len(c.cuts) == 0 {
		return ""
	}
	longest := time.Duration(0)
	for _, k := range c.cuts {
		longest = max(longest, k.pause)
	}
	if len(c.cuts) == 1 {
		return fmt.Sprintf("Dashed upright line: the session was resumed after %s that the axis leaves out.", lasting(longest.Seconds()))
	}
	return fmt.Sprintf("Dashed upright lines: the session was resumed after pauses of up to %s that the axis leaves out.", lasting(longest.Seconds()))
}

// timeUnit is what an axis of time counts in.
type timeUnit struct {
	name    string
	seconds float64
	steps   []float64 // between labels, in the unit
}

func unitFor(span float64) timeUnit {
	switch {
	case span <= 300:
		return timeUnit{"s", 1, nil}
	case span <= 3*3600:
		return timeUnit{"min", 60, []float64{1, 2, 5, 10, 15, 20, 30, 60}}
	}
	return timeUnit{"h", 3600, []float64{0.5, 1, 2, 3, 6, 12, 24, 48, 96, 168}}
}

// wantedTimeSteps is about how many steps an axis of time gets.
const wantedTimeSteps = 8

// timeAxis is an axis of seconds that is labelled in the unit that suits it.
func timeAxis(s stretch) Axis {
	unit := unitFor(s.length())
	step := niceStep(s.length() / unit.seconds / wantedTimeSteps)
	for _, wide := range unit.steps {
		if step = wide; wide*unit.seconds*wantedTimeSteps >= s.length() {
			break
		}
	}
	if longest := unit.steps; longest != nil && step*unit.seconds*wantedTimeSteps < s.length() {
		step = niceStep(s.length() / unit.seconds / wantedTimeSteps)
	}
	a := Axis{Label: "Time since the session began (" + unit.name + ")", Min: s.from, Max: s.to}
	for k := math.Ceil(s.from/unit.seconds/step - 1e-9); k*step*unit.seconds <= s.to*(1+1e-12); k++ {
		a.Ticks = append(a.Ticks, Tick{k * step * unit.seconds, signed(k*step, step)})
	}
	return a
}

// minus stands before what is under 0.
const minus = "−"

// signed is decimal for values that may be under 0.
func signed(v, step float64) string {
	if v < 0 {
		return minus + decimal(-v, step)
	}
	return decimal(v, step)
}

// lasting writes a length of time in words.
func lasting(s float64) string {
	switch {
	case s < 9.95:
		return strconv.FormatFloat(s, 'g', 2, 64) + " s"
	case s < 120:
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	case s < 2*3600:
		return strconv.FormatFloat(s/60, 'f', 0, 64) + " min"
	}
	return strconv.FormatFloat(s/3600, 'f', 1, 64) + " h"
}
