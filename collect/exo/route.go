package exo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tokwatt/collect"
)

// exo's requests name a model, not an instance. Of several instances of one
// model it takes the one of which it lists the fewest tasks, ended ones
// included, so that requests may go to either, and to one and then to the
// other. A task tells its instance.

// meet looks for other instances of the model, and tells of them when there
// are some that were not there before.
func (e *engine) meet(ctx context.Context) {
	all, err := e.target.instances(ctx)
	if err != nil {
		return // the measured request will say what is wrong
	}
	before := e.rivals
	e.rivals = nil
	for _, in := range all {
		if in.model == e.target.model.ID && in.id != e.target.placement.id {
			e.rivals = append(e.rivals, in.id)
		}
	}
	if slices.ContainsFunc(e.rivals, func(id string) bool { return !slices.Contains(before, id) }) {
		e.target.opts.notify("another instance of %s runs in the cluster (%s), and exo sends a request to either: where each goes is looked at while it runs",
			e.target.model.ID, strings.Join(e.rivals, ", "))
	}
}

// elsewhere is the failure of a target whose requests go to an instance that
// is not its own. It stays that of all further requests.
func (e *engine) elsewhere(instance string) error {
	way := "delete it or use --reuse-instance"
	if e.target.reused {
		way = "delete it" // which of the two is reused can't be chosen
	}
	f := collect.Failf(collect.ErrProtocol, "exo sends requests for %s to another instance, %s, so that %s can't be measured: %s",
		e.target.model.ID, instance, e.target.placement.id, way)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.astray = f
	return f
}

// misled is the failure of a target whose requests go elsewhere, nil as long as
// none was seen to.
func (e *engine) misled() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.astray
}

// unseen tells, once, that nothing shows where requests go.
func (e *engine) unseen() {
	e.mu.Lock()
	told := e.blind || len(e.rivals) == 0
	e.blind = e.blind || !told
	e.mu.Unlock()
	if !told {
		e.target.opts.notify("exo does not show to which instance of %s it sends requests: what is measured may be another one", e.target.model.ID)
	}
}

// How often is looked where a request has gone, while it runs.
const (
	followFirst = 20 * time.Millisecond
	followPoll  = 500 * time.Millisecond
)

// follow looks where a measured request goes, if there is a choice, until it
// has been seen on our instance or arrived is called. That returns whether it
// was seen there, or the failure of one that went elsewhere. It costs exo a few
// short answers beside the request.
func (e *engine) follow(s *stream) (arrived func() (bool, error)) {
	e.mu.Lock()
	choice := len(e.rivals) > 0
	e.mu.Unlock()
	if !s.batch || !choice {
		return func() (bool, error) { return true, nil }
	}
	ctx, stop := context.WithCancel(s.ctx)
	done := make(chan struct{})
	var seen bool
	var other string
	go func() {
		defer close(done)
		for pause := followFirst; !seen && sleep(ctx, pause); pause = min(2*pause, followPoll) {
			if all, err := e.target.running(ctx); err == nil {
				seen, other = e.whereabouts(all, s, other)
			}
		}
	}()
	return func() (bool, error) {
		stop()
		<-done
		if !seen && other != "" {
			return false, e.elsewhere(other)
		}
		return seen, nil
	}
}

// whereabouts looks for s among the tasks. Requests that are alike can't be
// told apart, so that s is seen on our instance when all of ours are. other is
// an instance that has one of the kind, or had when last looked.
func (e *engine) whereabouts(all map[string]task, s *stream, other string) (seen bool, at string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	here := 0
	for id, t := range all {
		_, before := e.before[id]
		switch {
		case before || !t.Params.asks(e, s.call):
		case t.Instance == e.target.placement.id:
			here++
		case t.Instance != "":
			other = t.Instance
		}
	}
	if here > 0 && here >= e.alike(s) {
		return true, ""
	}
	return false, other
}

// routed judges where a probe was seen; nil: nowhere.
func (e *engine) routed(t *task) error {
	switch {
	case t == nil || t.Instance == "":
		e.unseen()
	case t.Instance != e.target.placement.id:
		return errors.New(collect.AsFailure(e.elsewhere(t.Instance), collect.ErrProtocol).Message) // of the target, not of a request
	}
	return nil
}
