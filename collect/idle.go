package collect

import (
	"context"
	"time"
)

// idleWindow is how long a target is left alone before its first request, so
// that what the machine draws by itself is known.
const idleWindow = 10 * time.Second

// quiet says what sensors can read, waits until their readings reach back far
// enough for what follows, and keeps a quiet window. Where nothing reads power
// it waits for nothing.
func (t *targetRun) quiet(ctx context.Context) error {
	if err := t.announce(t.sensors, 0); err != nil {
		return err
	}
	if err := t.announce(t.own, t.info.TargetID); err != nil {
		return err
	}
	t.reach(ctx, t.sensors)
	if t.spec.NoIdle || t.sensors.margin() == 0 && t.own.margin() == 0 {
		return nil
	}
	t.reach(ctx, t.own)
	t.notify(Progress{Phase: PhaseIdle, Target: t.info})
	idle := &Idle{Segment: t.segment, TargetID: t.info.TargetID, StartNS: t.clock.Now()}
	sleep(ctx, idleWindow)
	if ctx.Err() != nil {
		return nil
	}
	idle.EndNS = t.clock.Now()
	return t.put(idle)
}

// reach waits until sensors have been read for as long as a window needs.
func (t *targetRun) reach(ctx context.Context, s *sampler) {
	if margin := s.margin(); margin > 0 {
		sleep(ctx, margin-time.Duration(t.clock.Now()-s.since))
	}
}

// settle reads this machine's sensors for as long after the last batch as that
// needs, and hands out the last readings.
func (s *run) settle(ctx context.Context) error {
	if s.sensors == nil || !s.sensors.announced {
		return nil // no batch was near
	}
	if margin := s.sensors.margin(); margin > 0 && s.batchEnd > 0 {
		sleep(ctx, margin-time.Duration(s.clock.Now()-s.batchEnd))
	}
	s.sensors.stop()
	return s.flush(s.sensors)
}
