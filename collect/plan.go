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
	place   int         // of the job among all
	info    TargetInfo  // what it said of itself before it is opened, in a resumed session
	silence error       // why it did not say so much
	past    *pastTarget // what it goes on with; nil: nothing
	pending []step
}

// plan finds the targets of all jobs and what is left of each. Those that
// could not be found are reported; those that have nothing left are dropped.
func (s *run) plan(ctx context.Context) ([]work, error) {
	var todo []work
	var lost []error
	for _, w := range s.survey(ctx) {
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

// survey asks for the targets of all jobs, and finds what is left of each.
func (s *run) survey(ctx context.Context) []work {
	var all []work
	for i, j := range s.jobs {
		for t, err := range j.Driver.Targets(ctx, j.Spec) {
			all = append(all, work{target: t, err: err, job: j, place: i})
		}
	}
	if s.Past != nil {
		describe(ctx, all)
		s.recognise(all)
	}
	for i := range all {
		all[i].pending = schedule(all[i].job.Spec, all[i].past)
	}
	return all
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

// describe asks each target what it is.
func describe(ctx context.Context, all []work) {
	for i := range all {
		w := &all[i]
		if w.silence = w.err; w.silence == nil {
			w.info, w.silence = w.target.Describe(ctx)
		}
	}
}

// recognise finds the past of each target. The ones that say what they are
// come first; what then is left over is the past of those that do not answer,
// so far as it can be.
func (s *run) recognise(all []work) {
	for _, silent := range []bool{false, true} {
		for _, whole := range []bool{true, false} {
			for i := range all {
				if w := &all[i]; (w.silence != nil) == silent && w.past == nil {
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
