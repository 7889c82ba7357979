package collect

import (
	"io"
	"sync"
	"time"
)

// Clock is a segment's one clock: nanoseconds since its origin on the
// monotonic clock. Everything that is stamped in a segment is stamped by the
// same Clock, so any two stamps may be subtracted.
type Clock struct {
	origin time.Time // carries both the wall and the monotonic reading

	stamping sync.Once
	stamper  io.Closer // see keepStamping
}

// NewClock starts a clock now.
func NewClock() *Clock { return &Clock{origin: time.Now()} }

// Now is the time since the origin in nanoseconds.
func (c *Clock) Now() int64 { return int64(time.Since(c.origin)) }

// both reads this clock and the wall clock, in ns since 1970, one right after
// the other.
func (c *Clock) both() (now, wall int64) {
	t := time.Now()
	return int64(t.Sub(c.origin)), t.UnixNano()
}

// Origin is the wall time at which the clock stood at 0, in UTC.
func (c *Clock) Origin() time.Time { return c.origin.UTC().Round(0) }

// wallStep returns how far the wall clock has run ahead of the monotonic one
// since from, both read now. Zero unless somebody set the clock.
func wallStep(from time.Time) time.Duration {
	now := time.Now()
	return now.Round(0).Sub(from.Round(0)) - now.Sub(from)
}
