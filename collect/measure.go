package collect

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// measure runs the warm-up and all batches that are left, while sensors are
// read.
func (t *targetRun) measure(ctx context.Context) error {
	lost := func(s step) bool { return t.points[s.at].lost }
	if ctx.Err() != nil || !slices.ContainsFunc(t.pending, func(s step) bool { return !lost(s) }) {
		return nil
	}
	if err := t.begin(); err != nil {
		return err
	}
	if e, ok := t.engine.(Sensed); ok {
		t.own = t.sense(ctx, e.Sources(), false)
		defer t.own.stop()
	}
	if err := t.quiet(ctx); err != nil {
		return err
	}
	t.heat() // whatever came before is not about this target
	if err := t.warmUp(ctx); err != nil {
		return err
	}
	err := t.batches(ctx, lost)
	if err != nil && !ended(err) {
		return err
	}
	t.own.stop()
	return cmp.Or(t.flush(t.sensors, t.own), err)
}

func (t *targetRun) warmUp(ctx context.Context) error {
	if t.warmup == nil || t.warmup.lost {
		return nil
	}
	for i := range t.spec.warmup() {
		if ctx.Err() != nil {
			return nil
		}
		t.notify(Progress{Phase: PhaseWarmup, Target: t.info, Case: t.warmup.Case})
		b := t.batch(ctx, *t.warmup, int64(i), true)
		if err := t.hand(b); err != nil {
			return err
		}
		if f := b.Requests[0].Failure; f != nil && ctx.Err() == nil {
			t.warn("the warm-up failed (%s: %s); measuring all the same", f.Kind, f.Message)
		}
	}
	return nil
}

// batches runs what is left of the schedule. There is a pause before each
// batch, and another one between two groups; behind the last one nothing is
// left to be kept apart.
func (t *targetRun) batches(ctx context.Context, lost func(step) bool) error {
	last := -1
	t.refused = refused{good: map[int]bool{}, cases: map[int]bool{}}
	for i, s := range t.pending {
		if lost(s) || t.refused.cases[s.at] {
			continue
		}
		if last >= 0 && s.group != last {
			sleep(ctx, t.pause(t.spec.GroupPause))
		}
		last = s.group
		sleep(ctx, t.pause(t.spec.Pause))
		if ctx.Err() != nil {
			return nil
		}
		if err := t.step(ctx, s, t.pending[i+1:]); err != nil {
			return err
		}
	}
	return nil
}

// step measures a batch, behind which those of left are to come.
func (t *targetRun) step(ctx context.Context, s step, left []step) error {
	p := t.points[s.at]
	t.notify(Progress{Phase: PhaseMeasure, Target: t.info, Case: p.Case})
	b := t.batch(ctx, p, s.repeat, false)
	t.done++
	if err := t.hand(b); err != nil {
		return err
	}
	t.tellSize(&t.points[s.at], b)
	connected, ok := false, false
	for _, r := range b.Requests {
		ok = ok || r.Failure == nil
		connected = connected || r.Failure == nil || r.Failure.Kind != ErrConnect
	}
	if ok {
		t.measured++
	}
	t.notify(Progress{Phase: PhaseMeasured, Target: t.info, Case: p.Case, Batch: b})
	if !connected {
		return errDead
	}
	return t.judge(ctx, s, b, left)
}

// tellSize warns once of a text that is of another size than it was meant to be:
// what its tokens are is the model's to say.
func (t *targetRun) tellSize(p *point, b *Batch) {
	const off = 1.5
	for _, r := range b.Requests {
		if p.about == 0 || r.Report.PromptTokens == nil {
			continue
		}
		got, meant := *r.Report.PromptTokens, p.about
		if p.about = 0; float64(got) > off*float64(meant) || float64(got)*off < float64(meant) {
			t.warn("the %s prompt that was to be of about %d tokens has %d by the server's count: its text is sized for English in a common vocabulary", p.PromptKind, meant, got)
		}
	}
}

// hand yields a batch and what the sensors read until its end.
func (t *targetRun) hand(b *Batch) error {
	t.batchEnd = b.EndNS
	if err := t.put(b); err != nil {
		return err
	}
	t.tellHeat(b)
	return t.flush(t.sensors, t.own)
}

// pause is the user's pause, or the default: none in process.
func (t *targetRun) pause(d time.Duration) time.Duration {
	if t.can.InProcess {
		return orDefault(d, 0)
	}
	return orDefault(d, DefaultPause)
}
