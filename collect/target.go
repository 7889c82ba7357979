package collect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// errDead says that a target no longer takes connections.
var errDead = errors.New("no connection any more, so the rest of this target was not run")

// targetRun is the measurement of one target.
type targetRun struct {
	*run
	spec     Spec
	target   Target
	info     TargetInfo
	engine   Engine
	can      Abilities
	prompter Prompter
	points   []point
}

// point is a case ready to be measured.
type point struct {
	Case
	prompt string // own prompt's text
	lost   bool   // its prompt can't be made
}

// target measures t from describing to closing. What goes wrong is reported as
// an item; an error only ends the whole run.
func (s *run) target(ctx context.Context, t planned) error {
	s.notify(Progress{Phase: PhaseOpen})
	info, err := t.Describe(ctx)
	if err != nil {
		return s.fail(info.ModelID, err)
	}
	s.notify(Progress{Phase: PhaseOpen, Target: info})
	engine, err := t.Open(ctx, s.clock)
	if err != nil {
		return s.fail(info.ModelID, err)
	}
	defer t.Close(context.WithoutCancel(ctx))
	if info, err = t.Describe(ctx); err != nil {
		return s.fail(info.ModelID, err)
	}
	s.targets++
	info.TargetID = s.targets
	tr := &targetRun{run: s, spec: t.spec, target: t.Target, info: info, engine: engine, can: engine.Abilities()}
	if err := s.put(&info); err != nil {
		return err
	}
	if err := tr.prepare(ctx); err != nil {
		return err
	}
	err = tr.measure(ctx)
	if errors.Is(err, errDead) {
		return s.fail(info.ModelID, err)
	}
	return err
}

// prepare makes the prompts and yields the cases.
func (t *targetRun) prepare(ctx context.Context) error {
	if t.info.Unlisted {
		t.warn("%s is not among the models that the server lists%s; it is measured as asked", t.info.ModelID, t.listed())
	}
	sized := map[int64]error{}
	for _, shape := range t.spec.Shapes() {
		if shape.PP > 0 {
			if err := t.size(ctx, shape.PP, sized); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		p := t.point(shape)
		p.lost = sized[shape.PP] != nil
		t.points = append(t.points, p)
		if p.lost {
			continue
		}
		if err := t.put(&p.Case); err != nil {
			return err
		}
	}
	return nil
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

// size prepares prompts of pp tokens once, and keeps in sized why it can't be
// done. A server that fails the probe is measured all the same: its failure
// belongs in the rows.
func (t *targetRun) size(ctx context.Context, pp int64, sized map[int64]error) error {
	if _, done := sized[pp]; done {
		return nil
	}
	if t.prompter == nil {
		var warning string
		if t.prompter, warning = t.Prompts(t.info, t.engine, t.nonce()); warning != "" {
			t.warn("%s", warning)
		}
	}
	t.notify(Progress{Phase: PhaseSize, Target: t.info, Case: Case{PP: &pp}})
	err := t.prompter.Size(ctx, pp)
	if f := (*Failure)(nil); errors.As(err, &f) && f.Kind != ErrCancelled {
		t.warn("the prompt of %d tokens could not be verified (%v); it is sent as it is", pp, f)
		err = nil
	}
	sized[pp] = err
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return t.fail(t.info.ModelID, fmt.Errorf("no prompt of %d tokens: %w", pp, err))
}

// nonce says whether cold prompts need a front of their own.
func (t *targetRun) nonce() bool { return t.spec.cache() == CacheCold && t.can.ColdMethod == "" }

// point turns a shape into a case of this target.
func (t *targetRun) point(shape Shape) point {
	t.cases++
	c := Case{
		TargetID: t.info.TargetID, CaseID: t.cases,
		TG: shape.TG, TGWanted: shape.TGWanted, Concurrency: shape.Concurrency,
		CacheMode:  t.spec.cache(),
		PromptKind: cmp.Or(shape.Prompt.Kind, "own"), PromptSource: PromptText,
		Streaming: t.spec.Streaming.streams(shape.Concurrency),
	}
	if shape.TGWanted && !t.spec.NoEOSBan {
		c.EOSBan = t.can.EOSBan
	}
	if c.CacheMode == CacheCold {
		c.ColdMethod = t.can.ColdMethod
	}
	if shape.PP == 0 {
		c.PromptHash = promptHash(shape.Prompt.Text)
	} else {
		pp := shape.PP
		c.PP, c.PromptKind, c.PromptSource = &pp, "sized", t.prompter.Source()
		c.TemplateHeadTokens = t.prompter.Head()
		if t.nonce() {
			c.ColdMethod = "nonce"
		}
	}
	return point{Case: c, prompt: shape.Prompt.Text}
}

// promptHash tells own prompts apart.
func promptHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// measure runs the warm-up and all repeats.
func (t *targetRun) measure(ctx context.Context) error {
	for i := range t.spec.warmup() {
		if len(t.points) == 0 || t.points[0].lost || ctx.Err() != nil {
			break
		}
		t.notify(Progress{Phase: PhaseWarmup, Target: t.info, Case: t.points[0].Case})
		b := t.batch(ctx, t.points[0], int64(i), true)
		if err := t.put(b); err != nil {
			return err
		}
		if f := b.Requests[0].Failure; f != nil && ctx.Err() == nil {
			t.warn("the warm-up failed (%s: %s); measuring all the same", f.Kind, f.Message)
		}
	}
	for i, step := range t.schedule() {
		if step.point.lost {
			continue
		}
		if i > 0 && step.newGroup {
			sleep(ctx, t.pause(t.spec.GroupPause))
		}
		sleep(ctx, t.pause(t.spec.Pause))
		if ctx.Err() != nil {
			return nil
		}
		if err := t.step(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (t *targetRun) step(ctx context.Context, step step) error {
	t.notify(Progress{Phase: PhaseMeasure, Target: t.info, Case: step.point.Case})
	b := t.batch(ctx, step.point, step.repeat, false)
	t.done++
	if err := t.put(b); err != nil {
		return err
	}
	connected, ok := false, false
	for _, r := range b.Requests {
		ok = ok || r.Failure == nil
		connected = connected || r.Failure == nil || r.Failure.Kind != ErrConnect
	}
	if ok {
		t.measured++
	}
	t.notify(Progress{Phase: PhaseMeasured, Target: t.info, Case: step.point.Case, Batch: b})
	if !connected {
		return errDead
	}
	return nil
}

// step is one batch of the schedule.
type step struct {
	point    point
	repeat   int64
	newGroup bool // the first batch of a group
}

// schedule lists all batches in their order. A group is a round over all cases
// when repeats are interleaved, else all repeats of a case.
func (t *targetRun) schedule() []step {
	var out []step
	if t.spec.Order == OrderListed {
		for _, p := range t.points {
			for r := range t.spec.repeat() {
				out = append(out, step{p, int64(r), r == 0})
			}
		}
		return out
	}
	for r := range t.spec.repeat() {
		for i, p := range t.points {
			out = append(out, step{p, int64(r), i == 0})
		}
	}
	return out
}

// pause is the user's pause, or the default: none in process.
func (t *targetRun) pause(d time.Duration) time.Duration {
	if t.can.InProcess {
		return orDefault(d, 0)
	}
	return orDefault(d, DefaultPause)
}

func (t *targetRun) warn(format string, args ...any) {
	t.notify(Progress{Phase: PhaseWarning, Target: t.info, Warning: fmt.Sprintf(format, args...)})
}
