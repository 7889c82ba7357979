package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// errDead says that a target no longer takes connections.
var errDead = errors.New("no connection any more, so the rest of this target was not run")

// ended reports an error that ends a target and not the run.
func ended(err error) bool {
	var gone *goneError
	return errors.Is(err, errDead) || errors.As(err, &gone)
}

// targetRun is the measurement of one target.
type targetRun struct {
	*run
	work
	spec     Spec
	engine   Engine
	can      Abilities
	prompter Prompter // nil where the runner makes none
	points   []point  // by the shape's place
	warmup   *point   // nil: none can be sent
	told     bool     // of heat
	own      *sampler // of the engine's own sensors; nil: none
	refused  refused
}

// point is a case ready to be measured.
type point struct {
	Case
	prompt string // own prompt's text
	about  int64  // tokens that it is meant to have; 0: nobody said, or told of
	lost   bool   // its prompt can't be made
}

// visit measures a target, from describing to closing. What goes wrong is reported as
// an item; an error only ends the whole run.
func (s *run) visit(ctx context.Context, w work) error {
	s.notify(Progress{Phase: PhaseOpen})
	info, err := w.target.Describe(ctx)
	if err != nil {
		return s.fail(ctx, info.ModelID, err)
	}
	s.notify(Progress{Phase: PhaseOpen, Target: info})
	s.reached = true
	engine, err := w.target.Open(ctx, s.clock)
	if err != nil {
		return s.fail(ctx, info.ModelID, err)
	}
	defer w.target.Close(context.WithoutCancel(ctx))
	if w.info, err = w.target.Describe(ctx); err != nil {
		return s.fail(ctx, info.ModelID, err)
	}
	tr := &targetRun{run: s, work: w, spec: w.job.Spec, engine: engine, can: engine.Abilities()}
	if err := tr.enter(); err != nil || len(tr.pending) == 0 {
		return err
	}
	if s.sensors == nil {
		s.sensors = s.sense(ctx, s.Sources, true)
	}
	if err := tr.prepare(ctx); err != nil {
		return err
	}
	err = tr.measure(ctx)
	if ended(err) {
		return s.fail(ctx, info.ModelID, err)
	}
	return err
}

// enter gives the target its id: the one of its past where it is still the
// same, else a new one with a record of its own.
func (t *targetRun) enter() error {
	if t.past != nil && same(t.info, t.past.info) {
		return t.rejoin()
	}
	before := t.past
	t.past = t.claim(&t.work, same, true)
	if t.past == nil {
		t.past = t.claim(&t.work, same, false)
	}
	if t.past == nil && (before == nil || !kin(t.info, before.info)) {
		before = t.claim(&t.work, kin, false)
	}
	t.planned -= int64(len(t.pending))
	t.pending = schedule(t.spec, t.past)
	t.planned += int64(len(t.pending))
	if t.past != nil {
		return t.rejoin()
	}
	t.ids.target++
	t.info.TargetID = t.ids.target
	if before != nil {
		t.warn("%s is not what was measured before (%s), so it is measured from the start, as target %d", t.info.ModelID, changes(t.info, before.info), t.info.TargetID)
	}
	return t.put(&t.info)
}

// rejoin goes on with the past target. What it is not told by may have changed,
// as its instance does: then a record with the same id says how it is now.
func (t *targetRun) rejoin() error {
	past := t.past.info
	t.info.TargetID = past.TargetID
	if len(t.info.Nodes) == 0 {
		t.info.Nodes = nil // as it is stored
	}
	if t.info.InstanceID == past.InstanceID { // it was loaded when it was first met
		t.info.LoadS, t.info.DownloadS = cmp.Or(t.info.LoadS, past.LoadS), cmp.Or(t.info.DownloadS, past.DownloadS)
	}
	if len(t.pending) == 0 || reflect.DeepEqual(t.info, past) {
		return nil
	}
	now := t.info
	return t.put(&now)
}

// prepare makes the prompts and yields the cases.
func (t *targetRun) prepare(ctx context.Context) error {
	if t.info.Unlisted {
		t.warn("%s is not among the models that the server lists%s; it is measured as asked", t.info.ModelID, t.listed())
	}
	t.makePrompter()
	pending := map[int]bool{}
	for _, s := range t.pending {
		pending[s.at] = true
	}
	sizer := &sizer{targetRun: t, sized: map[int64]error{}}
	keys := caseKeys(t.spec)
	for i, shape := range t.spec.Shapes() {
		if !pending[i] {
			t.points = append(t.points, point{})
			continue
		}
		p, err := t.point(ctx, sizer, shape, keys[i].nth)
		if err != nil || ctx.Err() != nil {
			return err
		}
		t.points = append(t.points, p)
	}
	return t.prepareWarmup(ctx, sizer, pending[0])
}

// makePrompter asks for the prompter. What it warns of is about prompts that
// are made to a length.
func (t *targetRun) makePrompter() {
	makes := t.job.Prompts
	if makes == nil {
		makes = t.Prompts
	}
	if makes == nil {
		return
	}
	var warning string
	t.prompter, warning = makes(t.info, patiently(t.engine), t.nonce())
	if warning != "" && len(t.spec.PP) > 0 {
		t.warn("%s", warning)
	}
}

// prepareWarmup makes ready what warm-ups send. The first shape's own point
// serves where that is what they send and it is made.
func (t *targetRun) prepareWarmup(ctx context.Context, s *sizer, first bool) error {
	if t.spec.warmup() == 0 {
		return nil
	}
	if t.spec.WarmupPrompt == nil && first {
		t.warmup = &t.points[0]
		return nil
	}
	p, err := t.point(ctx, s, t.spec.warmupShape(), 0)
	t.warmup = &p
	return err
}

// listed names the models that the server lists, the first few of them.
func (t *targetRun) listed() string {
	l, ok := t.target.(Lister)
	if !ok || len(l.Listed()) == 0 {
		return ""
	}
	const most = 8
	names := l.Listed()
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf(" (%s and %d more)", strings.Join(names[:most], ", "), more)
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func (t *targetRun) warn(format string, args ...any) {
	t.notify(Progress{Phase: PhaseWarning, Target: t.info, Warning: fmt.Sprintf(format, args...)})
}
