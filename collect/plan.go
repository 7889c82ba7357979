package collect

import (
	"context"
	"time"
)

// work is a target with what is left to be measured on it.
type work struct {
	target  Target // nil where it was not found
	err     error  // why it was not
	job     Job
	info    TargetInfo  // what it said of itself before it is opened, in a resumed session
	silent  bool        // it did not say so much
	past    *pastTarget // what it goes on with; nil: nothing
	pending []step
}

// plan finds the targets of all jobs and what is left of each. Those that
// could not be found are reported; those that have nothing left are dropped.
func (s *run) plan(ctx context.Context) ([]work, error) {
	var all, todo []work
	for _, j := range s.jobs {
		for t, err := range j.Driver.Targets(ctx, j.Spec) {
			all = append(all, work{target: t, err: err, job: j})
		}
	}
	if s.Past != nil {
		s.recognise(ctx, all)
	}
	var lost []error
	for _, w := range all {
		w.pending = schedule(w.job.Spec, w.past)
		s.planned += int64(len(w.pending))
		switch {
		case len(w.pending) == 0:
		case w.err != nil:
			lost = append(lost, w.err)
		default:
			todo = append(todo, w)
		}
	}
	if s.Past != nil && s.planned == 0 {
		return nil, s.nothingLeft()
	}
	for _, err := range lost {
		if err := s.fail(ctx, "", err); err != nil {
			return nil, err
		}
	}
	return todo, nil
}

// nothingLeft ends a session that has all its batches: where the last run died
// before it could, or was told to stop, the end is still to be yielded.
func (s *run) nothingLeft() error {
	if end := s.Past.End; end == nil || end.Status == StatusInterrupted {
		if !s.yield(&End{At: time.Now().UTC(), Status: s.status()}, nil) {
			return errStopped
		}
	}
	return ErrNothingLeft
}

// recognise finds the past of each target. The ones that say what they are
// come first; what then is left over is the past of those that do not answer,
// so far as it can be.
func (s *run) recognise(ctx context.Context, all []work) {
	s.notify(Progress{Phase: PhaseOpen})
	for i := range all {
		w := &all[i]
		if w.silent = w.err != nil; !w.silent {
			var err error
			w.info, err = w.target.Describe(ctx)
			w.silent = err != nil
		}
	}
	for _, silent := range []bool{false, true} {
		for _, whole := range []bool{true, false} {
			for i := range all {
				if w := &all[i]; w.silent == silent && w.past == nil {
					w.past = s.claim(w, like, whole)
				}
			}
		}
	}
}

// step is one batch of a target's schedule.
type step struct {
	at     int // the shape's place in Spec.Shapes
	repeat int64
	group  int
}

// schedule lists the batches of a target that past does not have, in their
// order. A group is a round over all cases when repeats are interleaved, else
// all repeats of a case.
func schedule(spec Spec, past *pastTarget) []step {
	keys := caseKeys(spec)
	var out []step
	add := func(s step) {
		if !past.has(keys[s.at], s.repeat) {
			out = append(out, s)
		}
	}
	if spec.Order == OrderListed {
		for i := range keys {
			for r := range spec.repeat() {
				add(step{at: i, repeat: int64(r), group: i})
			}
		}
		return out
	}
	for r := range spec.repeat() {
		for i := range keys {
			add(step{at: i, repeat: int64(r), group: r})
		}
	}
	return out
}
