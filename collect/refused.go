package collect

import (
	"context"
	"fmt"
	"net/http"
)

// refused is what a server has turned down of a target before it answered any
// of it: to ask the same again would be turned down again.
type refused struct {
	good  map[int]bool // cases of which a batch was answered, by the shape's place
	cases map[int]bool // cases that are given up
}

// goneError says that the server does not know the target.
type goneError struct{ reason *Failure }

func (e *goneError) Error() string {
	return fmt.Sprintf("%s, so the rest of this target was not run", e.reason.Message)
}

// judge draws the consequence of a batch of which nothing was answered: an
// unknown model ends the target, which is the error, and a request that is
// refused for what it asks ends its case. What was answered before is no such
// thing, nor is a server that is busy or broken.
func (t *targetRun) judge(ctx context.Context, s step, b *Batch, left []step) error {
	f, whole := turnedDown(b)
	if !whole {
		t.refused.good[s.at] = true
		return nil
	}
	switch {
	case f == nil || len(left) == 0:
		return nil
	case *f.HTTPStatus == http.StatusNotFound && len(t.refused.good) == 0:
		return &goneError{f}
	case *f.HTTPStatus != http.StatusNotFound && !t.refused.good[s.at]:
		t.refused.cases[s.at] = true
		return t.giveUp(ctx, s, f, left)
	}
	return nil
}

// giveUp tells of the batches of a case that are not run.
func (t *targetRun) giveUp(ctx context.Context, s step, f *Failure, left []step) error {
	n := 0
	for _, other := range left {
		if other.at == s.at {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return t.fail(ctx, t.info.ModelID, fmt.Errorf("case %d: %s, so its other batches (%d) were not run", t.points[s.at].CaseID, f.Message, n))
}

// turnedDown tells whether all of a batch failed, and how, where the server said
// one thing of every request: that it can't be served.
func turnedDown(b *Batch) (f *Failure, whole bool) {
	f = b.Requests[0].Failure
	for _, r := range b.Requests {
		switch {
		case r.Failure == nil:
			return nil, false
		case !refusal(r.Failure), f != nil && *f.HTTPStatus != *r.Failure.HTTPStatus:
			f = nil
		}
	}
	return f, true
}

// refusal reports a status that stays what it is however often one asks.
func refusal(f *Failure) bool {
	if f.Kind != ErrHTTP || f.HTTPStatus == nil {
		return false
	}
	switch *f.HTTPStatus {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
