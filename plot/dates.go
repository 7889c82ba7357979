package plot

import (
	"fmt"
	"time"
)

const week = 7 * 24 * time.Hour

// calendar is how an axis of dates is labelled.
type calendar struct {
	longest time.Duration // of the axis that it suits
	months  int           // between ticks, or:
	step    time.Duration
	layout  string
}

// calendars lists them from the finest on.
func calendars() []calendar {
	const day = 24 * time.Hour
	return []calendar{
		{90 * time.Second, 0, 10 * time.Second, "15:04:05"},
		{10 * time.Minute, 0, time.Minute, "15:04"},
		{time.Hour, 0, 10 * time.Minute, "15:04"},
		{3 * time.Hour, 0, 30 * time.Minute, "15:04"},
		{12 * time.Hour, 0, time.Hour, "15:04"},
		{2 * day, 0, 6 * time.Hour, "2 Jan 15:04"},
		{9 * day, 0, day, "2 Jan"},
		{60 * day, 0, week, "2 Jan"},
		{290 * day, 1, 0, "Jan 2006"},
		{3 * 366 * day, 3, 0, "Jan 2006"},
		{1 << 62, 12, 0, "2006"},
	}
}

// dateAxis is an axis of seconds since 1970 that is labelled with dates in UTC.
// The fewer the points of time, the more room there is at both ends: what stands
// above the last begins there. Sessions of one minute are as far apart as those
// of a year.
func dateAxis(from, to time.Time, points int) Axis {
	share := max(0.03, 0.35/float64(points))
	margin := max(time.Duration(share*float64(to.Sub(from))), 15*time.Second)
	a := Axis{Label: dateLabel(from, to), Min: seconds(from.Add(-margin)), Max: seconds(to.Add(margin))}
	span := to.Add(margin).Sub(from.Add(-margin))
	all := calendars()
	c := all[len(all)-1]
	for i := len(all) - 1; i >= 0; i-- {
		if span <= all[i].longest {
			c = all[i]
		}
	}
	for t := c.first(from.Add(-margin)); seconds(t) <= a.Max; t = c.next(t) {
		if seconds(t) >= a.Min {
			a.Ticks = append(a.Ticks, Tick{seconds(t), t.Format(c.layout)})
		}
	}
	sty := textStyle(tickSize, nil)
	place := func(v float64) float64 { return tracesWidth * a.place(v) }
	a.Ticks = thin(a.Ticks, place, func(s string) float64 { return float64(sty.Width(s)) }, 2*labelGap)
	return a
}

// first is a tick not after t: at a full hour, day, Monday, month or year.
func (c calendar) first(t time.Time) time.Time {
	t = t.UTC()
	switch {
	case c.months == 12:
		return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	case c.months > 0:
		return time.Date(t.Year(), t.Month()-(t.Month()-1)%time.Month(c.months), 1, 0, 0, 0, 0, time.UTC)
	case c.step == week:
		return time.Date(t.Year(), t.Month(), t.Day()-int(t.Weekday()+6)%7, 0, 0, 0, 0, time.UTC)
	}
	return t.Truncate(c.step)
}

func (c calendar) next(t time.Time) time.Time {
	if c.months > 0 {
		return t.AddDate(0, c.months, 0)
	}
	return t.Add(c.step)
}

// dateLabel says what the ticks leave out: the day, or the year.
func dateLabel(from, to time.Time) string {
	from, to = from.UTC(), to.UTC()
	switch {
	case to.Sub(from) < 11*time.Hour && from.YearDay() == to.YearDay():
		return "Start of the session on " + from.Format("2 January 2006") + " (UTC)"
	case from.Year() == to.Year():
		return "Start of the session in " + from.Format("2006") + " (UTC)"
	}
	return fmt.Sprintf("Start of the session, %d to %d (UTC)", from.Year(), to.Year())
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
