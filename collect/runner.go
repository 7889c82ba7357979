package collect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Job is one matrix on the targets of one driver. A suite is several of them.
type Job struct {
	Driver Driver
	Spec   Spec
}

// Runner carries out jobs.
type Runner struct {
	Session Session // ID, host and what the user said; StartedAt is filled in
	Segment Segment // ToolVersion, BootID and PID; the rest is filled in

	// Prompts makes the prompter for a target and its engine. With fresh, every prompt it
	// builds must start with tokens of its own, so that no cache can serve
	// it. A warning that is not empty is told once. The prompter may be nil
	// where all prompts are the user's own.
	Prompts func(t TargetInfo, e Engine, fresh bool) (p Prompter, warning string)

	// Notify is told how the run stands. It is only called while nothing is
	// timed, so it may draw. May be nil.
	Notify func(Progress)
}

// Progress is how a run stands.
type Progress struct {
	Phase   Phase
	Target  TargetInfo
	Case    Case
	Batch   *Batch // the one that just ended, in PhaseMeasured
	Done    int64  // planned batches that are over
	Planned int64
	Warning string // in PhaseWarning: one sentence
}

// Phase is what a run does.
type Phase string

// The phases.
const (
	PhaseOpen     Phase = "open"     // a target is described and opened
	PhaseSize     Phase = "size"     // prompts are made
	PhaseWarmup   Phase = "warm-up"  // a discarded batch begins
	PhaseMeasure  Phase = "measure"  // a batch begins
	PhaseMeasured Phase = "measured" // a batch has ended
	PhaseWarning  Phase = "warning"
)

// TargetError is a target that could not be measured, or not to its end.
type TargetError struct {
	Model string
	Err   error
}

// Error names the model and the reason.
func (e *TargetError) Error() string {
	if e.Model == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s: %v", e.Model, e.Err)
}

func (e *TargetError) Unwrap() error { return e.Err }

// Run carries out the jobs in their order, and yields the records of the session as they come to be: the session and its
// segment, each target with its cases and batches, the end. A run that finds
// no target to measure yields no record at all. An error item is a
// *TargetError and stands for something that was not measured; the run goes
// on. When ctx ends, the batch in flight is cut short, and the end is still
// yielded. The yielded records belong to the caller.
func (r *Runner) Run(ctx context.Context, jobs ...Job) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s := &run{Runner: r, jobs: jobs, clock: NewClock(), yield: yield}
		if err := s.all(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped says that the consumer has stopped ranging.
var errStopped = errors.New("stopped")

// run is one Run under way.
type run struct {
	*Runner
	jobs  []Job
	clock *Clock
	yield func(Record, error) bool

	targets, cases, batches, requests int64 // ids given out
	done, planned, measured           int64
	opened                            bool
}

// put yields a record, the first one behind the session and its segment.
func (s *run) put(rec Record) error {
	if !s.opened {
		s.opened = true
		if err := s.open(); err != nil {
			return err
		}
	}
	if !s.yield(rec, nil) {
		return errStopped
	}
	return nil
}

// fail reports something that was not measured.
func (s *run) fail(model string, err error) error {
	if !s.yield(nil, &TargetError{Model: model, Err: err}) {
		return errStopped
	}
	return nil
}

func (s *run) notify(p Progress) {
	if s.Notify != nil {
		p.Done, p.Planned = s.done, s.planned
		s.Notify(p)
	}
}

func (s *run) all(ctx context.Context) error {
	for _, j := range s.jobs {
		if err := j.Spec.Validate(); err != nil {
			return err
		}
	}
	todo, err := s.plan(ctx)
	if err != nil {
		return err
	}
	for i, t := range todo {
		if i > 0 {
			sleep(ctx, orDefault(t.spec.TargetPause, 0))
		}
		if ctx.Err() != nil {
			break
		}
		if err := s.target(ctx, t); err != nil {
			return err
		}
	}
	return s.end(ctx)
}

// planned is a target with what is to be measured on it.
type planned struct {
	Target
	spec Spec
}

// plan finds the targets of all jobs.
func (s *run) plan(ctx context.Context) ([]planned, error) {
	var todo []planned
	var lost []error
	for _, j := range s.jobs {
		perTarget := int64(len(j.Spec.Shapes()) * j.Spec.repeat())
		for t, err := range j.Driver.Targets(ctx, j.Spec) {
			s.planned += perTarget
			if err != nil {
				lost = append(lost, err)
				continue
			}
			todo = append(todo, planned{t, j.Spec})
		}
	}
	for _, err := range lost {
		if err := s.fail("", err); err != nil {
			return nil, err
		}
	}
	return todo, nil
}

// open yields the session and its segment.
func (s *run) open() error {
	session := s.Session
	session.StartedAt = s.clock.Origin()
	if err := s.put(&session); err != nil {
		return err
	}
	segment := s.Segment
	segment.Segment = 1
	segment.StartedAt = s.clock.Origin()
	segment.PlannedBatches = s.planned
	return s.put(&segment)
}

func (s *run) end(ctx context.Context) error {
	if !s.opened {
		return nil
	}
	end := End{At: time.Now().UTC(), Status: StatusComplete, NotRun: s.planned - s.done}
	switch {
	case ctx.Err() != nil:
		end.Status = StatusInterrupted
	case s.measured == 0:
		end.Status = StatusFailed
	}
	return s.put(&end)
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
