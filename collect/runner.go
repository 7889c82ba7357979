package collect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"tokwatt/power"
)

// Job is one matrix on the targets of one driver. A suite is several of them.
type Job struct {
	Driver  Driver
	Spec    Spec
	Prompts Prompts // nil: the Runner's
}

// Prompts makes the prompter for a target and its engine. With fresh, every
// prompt it builds must start with tokens of its own, so that no cache can
// serve it. A warning that is not empty is told once where prompts are sized.
// The prompter may be nil where all prompts are the user's own.
type Prompts func(t TargetInfo, e Engine, fresh bool) (p Prompter, warning string)

// Runner carries out jobs.
type Runner struct {
	Session Session // ID, host and what the user said; StartedAt is filled in
	Segment Segment // ToolVersion, BootID and PID; the rest is filled in

	// Past is the session to go on with; nil: a new one. Then Session is not
	// used.
	Past *Past

	Prompts Prompts

	// Sources are this machine's own sensors. They are read from before the
	// first target is made ready to after the last batch, and left open. Of
	// one that says that it can read nothing, nobody is warned.
	Sources []power.Source

	// NoSensors leaves all sensors alone, those of engines too; else they are
	// read every SampleEvery, by default as often as each gives cheaply.
	NoSensors   bool
	SampleEvery time.Duration

	// Heat is asked before and after each batch. May be nil.
	Heat func() Heat

	// Notify is told how the run stands. It is only called while nothing is
	// timed, so it may draw. May be nil.
	Notify func(Progress)
}

// Progress is how a run stands.
type Progress struct {
	Phase  Phase
	Target TargetInfo
	Case   Case
	Batch  *Batch // the one that just ended, in PhaseMeasured
	Done   int64  // planned batches that are over
	// Planned are the batches of all jobs; in a resumed session those that were
	// left. It grows where a target turns out, once it is open, to be another
	// than the one that was measured before.
	Planned int64
	Warning string // in PhaseWarning: one sentence
}

// Phase is what a run does.
type Phase string

// The phases.
const (
	PhaseOpen     Phase = "open"     // a target is described and opened
	PhaseSize     Phase = "size"     // prompts are made
	PhaseIdle     Phase = "idle"     // a quiet window begins
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

// Run carries out the jobs in their order, and yields the records of the
// session as they come to be: the session and its segment, each target with
// its cases, batches and samples, the end. Of a session with a past, what is
// done is neither measured nor yielded again; where that is all, no segment is
// yielded, at most the end that the session lacks, and then ErrNothingLeft. A run
// of which no target answers yields no record at all. Any other error item is a
// *TargetError, stands for something that was not measured and has a *Lost in
// the session, and the run goes on; or a job is not valid, and nothing runs.
// When ctx ends, the batch in flight is cut short, and the end is still
// yielded. The yielded records belong to the caller.
func (r *Runner) Run(ctx context.Context, jobs ...Job) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s := &run{Runner: r, jobs: jobs, clock: NewClock(), yield: yield, claimed: map[*pastTarget]bool{}}
		if r.Past != nil {
			s.ids, s.segment, s.measured = r.Past.ids, r.Past.segment, r.Past.measured
		}
		s.segment++
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

	ids      ids
	segment  int64
	claimed  map[*pastTarget]bool // past targets that a target goes on with
	done     int64                // planned batches that are over
	planned  int64
	measured int64 // batches with a good request, past ones too
	opened   bool
	reached  bool     // a target answered and was to be opened
	lost     []*Lost  // of before the segment
	sensors  *sampler // of this machine; nil: none, or no target was ready yet
	batchEnd int64    // of the newest batch, on the clock
}

// ids are the newest ones given out.
type ids struct{ target, case_, batch, request int64 }

// put yields a record, the first one behind the session and its segment.
func (s *run) put(rec Record) error {
	if err := s.begin(); err != nil {
		return err
	}
	if !s.yield(rec, nil) {
		return errStopped
	}
	return nil
}

// fail reports something that was not measured, and records it where that is
// not the user's own doing; before the segment, the record waits for it.
func (s *run) fail(ctx context.Context, model string, err error) error {
	if !s.yield(nil, &TargetError{Model: model, Err: err}) {
		return errStopped
	}
	if ctx.Err() != nil {
		return nil
	}
	lost := &Lost{Segment: s.segment, Model: model, Message: err.Error()}
	if !s.opened {
		s.lost = append(s.lost, lost)
		return nil
	}
	return s.put(lost)
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
	s.warnOfSpecs()
	defer func() { s.sensors.stop() }()
	for i, w := range todo {
		if i > 0 {
			sleep(ctx, orDefault(w.job.Spec.TargetPause, 0))
		}
		if ctx.Err() != nil {
			break
		}
		if err := s.visit(ctx, w); err != nil {
			return err
		}
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	return s.end(ctx)
}

// warnOfSpecs tells once what the specs themselves warn of.
func (s *run) warnOfSpecs() {
	told := map[string]bool{}
	for _, j := range s.jobs {
		for _, w := range j.Spec.Warnings() {
			if !told[w] {
				told[w] = true
				s.notify(Progress{Phase: PhaseWarning, Warning: w})
			}
		}
	}
}

// begin yields the segment and what was lost before it, of a new session behind
// the session itself, unless that was done.
func (s *run) begin() error {
	if s.opened {
		return nil
	}
	s.opened = true
	if s.Past == nil {
		session := s.Session
		session.StartedAt = s.clock.Origin()
		if err := s.put(&session); err != nil {
			return err
		}
	}
	segment := s.Segment
	segment.Segment = s.segment
	segment.StartedAt = s.clock.Origin()
	segment.PlannedBatches = s.planned
	if err := s.put(&segment); err != nil {
		return err
	}
	for _, l := range s.lost {
		if err := s.put(l); err != nil {
			return err
		}
	}
	return nil
}

// end closes a session. One of which nothing was measured keeps why, where a
// target failed that was there.
func (s *run) end(ctx context.Context) error {
	if !s.opened && !(s.reached && len(s.lost) > 0) {
		return nil
	}
	end := End{At: time.Now().UTC(), Status: s.status(), NotRun: s.planned - s.done}
	if ctx.Err() != nil {
		end.Status = StatusInterrupted
	}
	return s.put(&end)
}

// status is that of a session that ends by itself.
func (s *run) status() SessionStatus {
	if s.measured == 0 {
		return StatusFailed
	}
	return StatusComplete
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
