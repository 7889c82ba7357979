package collect

import (
	"context"
	"errors"
	"fmt"
)

// point turns a shape into a case of this target, the nth that is equal, and
// yields its record unless the past has it.
func (t *targetRun) point(ctx context.Context, s *sizer, shape Shape, nth int) (point, error) {
	p := point{prompt: shape.Prompt.Text, about: shape.Prompt.About}
	if shape.PP > 0 {
		if err := s.size(ctx, shape.PP); err != nil || ctx.Err() != nil {
			return p, err
		}
		if p.lost = s.sized[shape.PP] != nil; p.lost {
			return p, nil
		}
	}
	p.Case = t.caseOf(shape)
	if id, ok := t.past.caseLike(p.Case, nth); ok {
		p.CaseID = id
		return p, nil
	}
	t.ids.case_++
	p.CaseID = t.ids.case_
	c := p.Case
	return p, t.put(&c)
}

// caseOf is a shape as a case of this target, without an id.
func (t *targetRun) caseOf(shape Shape) Case {
	c := t.spec.caseOf(shape)
	c.TargetID = t.info.TargetID
	if shape.TGWanted && !t.spec.NoEOSBan {
		c.EOSBan = t.can.EOSBan
	}
	if c.CacheMode == CacheCold {
		c.ColdMethod = t.can.ColdMethod
	}
	if shape.PP > 0 {
		c.PromptSource, c.TemplateHeadTokens = t.prompter.Source(), t.prompter.Head()
		if t.nonce() {
			c.ColdMethod = "nonce"
		}
	}
	return c
}

// nonce says whether cold prompts need a front of their own.
func (t *targetRun) nonce() bool { return t.spec.cache() == CacheCold && t.can.ColdMethod == "" }

// errNoPrompter is a fault of the program.
var errNoPrompter = errors.New("nothing here can make a prompt of that length: give your own text with --prompt")

// sizer prepares the lengths that a target's prompts have.
type sizer struct {
	*targetRun
	sized map[int64]error // why a length can't be had; nil: it can
}

// size prepares prompts of pp tokens once, and keeps in sized why it can't be
// done. A server that fails the probe is measured all the same: its failure
// belongs in the rows.
func (s *sizer) size(ctx context.Context, pp int64) error {
	if _, done := s.sized[pp]; done {
		return nil
	}
	s.notify(Progress{Phase: PhaseSize, Target: s.info, Case: Case{PP: &pp}})
	err := errNoPrompter
	if s.prompter != nil {
		err = s.prompter.Size(ctx, pp)
	}
	if f := (*Failure)(nil); errors.As(err, &f) && f.Kind != ErrCancelled {
		s.warn("the prompt of %d tokens could not be verified (%v); it is sent as it is, and its rows enter no figure where the server counts over 2 tokens and 1 %% more or fewer", pp, f)
		err = nil
	}
	s.sized[pp] = err
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return s.fail(ctx, s.info.ModelID, fmt.Errorf("no prompt of %d tokens: %w", pp, err))
}
