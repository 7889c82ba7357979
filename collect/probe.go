package collect

import (
	"context"
	"errors"
	"slices"
	"time"
)

// probeRepeats is how often a probe is sent again.
const probeRepeats = 3

// The waits before a probe is sent again: the first, which doubles, and the
// longest that a server may ask for.
const (
	probeWait    = 500 * time.Millisecond
	probeMaxWait = 10 * time.Second
)

// patient is an engine whose count of a prompt is asked for again where it
// failed for a reason that may pass: a single refusal would cost the exact
// length of a prompt, and with it all rows of that length. Probes are not
// measured, so this hides nothing.
type patient struct {
	Engine
	counter Counter
	spent   bool // the newest probe failed to the last
}

// patiently makes the counts of an engine patient ones, where it has any.
func patiently(e Engine) Engine {
	c, ok := e.(Counter)
	if !ok {
		return e
	}
	return &patient{Engine: e, counter: c}
}

// Count asks the engine, again where that may help. After a probe that failed
// to the last, the next ones are sent once, until one is answered.
func (p *patient) Count(ctx context.Context, text Prompt) (Counted, error) {
	wait := probeWait
	for again := probeRepeats; ; again-- {
		c, err := p.counter.Count(ctx, text)
		passes, after := passing(err)
		if !passes {
			p.spent = false
			return c, err
		}
		if again == 0 || p.spent {
			p.spent = true
			return c, err
		}
		sleep(ctx, min(max(wait, after), probeMaxWait))
		if ctx.Err() != nil {
			return c, err
		}
		wait *= 2
	}
}

// passing reports whether what failed may do better soon, and when the server
// says so. A server that said nothing at all for as long as a request may take
// is not asked to do that again.
func passing(err error) (passes bool, after time.Duration) {
	var f *Failure
	if !errors.As(err, &f) {
		return false, 0
	}
	if f.RetryAfter != nil {
		after = time.Duration(min(*f.RetryAfter, probeMaxWait.Seconds()) * float64(time.Second))
	}
	switch f.Kind {
	case ErrReset, ErrTruncated, ErrTimeout:
		return true, after
	case ErrHTTP:
		return f.HTTPStatus != nil && slices.Contains([]int64{408, 429, 500, 502, 503, 504}, *f.HTTPStatus), after
	}
	return false, 0
}
