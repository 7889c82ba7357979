package exo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// How long the steps of placing an instance may take. exo accepts one with 200
// that then never comes to be, and a runner that hangs keeps new ones from
// starting, so each step has a limit of its own; exo-bench waits 24,000 s for
// all of them together, which is the last limit here too.
const (
	appearLimit = 60 * time.Second // until the instance is in the state
	runnerLimit = 5 * time.Minute  // until each runner is, as measured 12 s
	readyLimit  = 24_000 * time.Second
	deafLimit   = 60 * time.Second // without an answer of exo at all
	readyPoll   = 100 * time.Millisecond
)

// create posts the instance, byte for byte as it was previewed: exo refuses
// what it does not know.
func (t *Target) create(ctx context.Context) error {
	body := slices.Concat([]byte(`{"instance":`), t.placement.raw, []byte("}"))
	_, err := t.do(ctx, http.MethodPost, "/instance", json.RawMessage(body))
	if err == nil || ctx.Err() != nil || status(err) == 0 {
		t.posted = true // an answer that got lost says nothing of the command
	}
	if err != nil && status(err) == http.StatusBadRequest {
		return fmt.Errorf("%w%s", err, t.others(ctx))
	}
	return err
}

// others names what else takes memory in the cluster.
func (t *Target) others(ctx context.Context) string {
	all, err := t.instances(ctx)
	if err != nil || len(all) == 0 {
		return ""
	}
	var names []string
	for _, in := range all {
		names = append(names, in.model+" as "+in.id)
	}
	return fmt.Sprintf(" (the cluster runs %s; instances of others are left alone: delete them in exo, or measure one with --reuse-instance)", strings.Join(names, ", "))
}

// waiting is the wait for an instance.
type waiting struct {
	t       *Target
	begun   time.Time
	heard   time.Time            // when exo last answered
	moved   time.Time            // when a runner last came on
	states  map[string]string    // of runners, as told
	missing map[string]time.Time // runners that are not there yet, since when
	told    string
}

// await waits until all runners of the instance are ready. Without progress
// it waits as long as a first token may take.
func (t *Target) await(ctx context.Context) error {
	now := time.Now()
	w := &waiting{t: t, begun: now, heard: now, moved: now, states: map[string]string{}, missing: map[string]time.Time{}}
	for {
		ready, err := w.poll(ctx)
		if err != nil || ready {
			return err
		}
		if err := w.late(); err != nil {
			return err
		}
		if !sleep(ctx, readyPoll) {
			return ctx.Err()
		}
	}
}

// poll asks once. That exo does not answer is no error yet: connections may be
// reset while it loads.
func (w *waiting) poll(ctx context.Context) (ready bool, err error) {
	id := w.t.placement.id
	var raw json.RawMessage
	found, err := w.t.get(ctx, "/state/instances/"+id, &raw)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		return false, nil
	}
	w.heard = time.Now()
	if !found && w.t.seen {
		return false, fmt.Errorf("the instance %s has vanished while it was loading: somebody deleted it, or a node left the cluster", id)
	}
	if !found {
		return false, nil
	}
	w.t.seen = true
	ready = true
	for _, runner := range w.t.placement.order {
		ok, err := w.runner(ctx, runner)
		if err != nil {
			return false, err
		}
		ready = ready && ok
	}
	w.tell()
	return ready, nil
}

// runner asks for the state of one.
func (w *waiting) runner(ctx context.Context, id string) (ready bool, err error) {
	var raw json.RawMessage
	found, err := w.t.get(ctx, "/state/runners/"+id, &raw)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		return false, nil
	case !found:
		if w.missing[id].IsZero() {
			w.missing[id] = time.Now()
		}
		return false, nil
	}
	delete(w.missing, id)
	state := only(raw)
	text := describe(state)
	if w.states[id] != text {
		w.states[id], w.moved = text, time.Now()
	}
	switch state.key {
	case "RunnerReady", "RunnerRunning":
		return true, nil
	case "RunnerFailed":
		return false, fmt.Errorf("the runner on %s failed: %s", w.t.name(w.t.placement.nodeOf(id)), w.t.Redact(failed(state.raw)))
	}
	return false, nil
}

// describe is a runner's state in a few words.
func describe(state member) string {
	name := words(strings.TrimPrefix(state.key, "Runner"))
	var load struct {
		Loaded *int `json:"layersLoaded"`
		Total  *int `json:"totalLayers"`
	}
	if json.Unmarshal(state.raw, &load) == nil && load.Loaded != nil && load.Total != nil {
		return fmt.Sprintf("%s %d/%d layers", name, *load.Loaded, *load.Total)
	}
	return name
}

// words are those of a name in camel case: "warming up".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// failed is why a runner failed.
func failed(raw json.RawMessage) string {
	var state struct {
		Message string `json:"errorMessage"`
	}
	_ = json.Unmarshal(raw, &state) // of another shape: no reason
	if why := wire.Tidy(state.Message); why != "" {
		return why
	}
	return "exo gives no reason; its log on that node may"
}

// tell notifies of the states when they have changed.
func (w *waiting) tell() {
	var parts []string
	for _, runner := range slices.Sorted(maps.Keys(w.states)) {
		parts = append(parts, w.t.name(w.t.placement.nodeOf(runner))+" "+w.states[runner])
	}
	if now := strings.Join(parts, ", "); now != w.told {
		w.told = now
		w.t.opts.notify("%s: %s", w.t.model.ID, now)
	}
}

// late is the error of a step that has taken too long.
func (w *waiting) late() error {
	id, since := w.t.placement.id, time.Since
	switch {
	case since(w.heard) > deafLimit:
		return collect.Failf(collect.ErrConnect, "exo at %s has not answered for %v while instance %s was loading", w.t.Endpoint(), deafLimit, id)
	case !w.t.seen && since(w.begun) > appearLimit:
		return fmt.Errorf("exo accepted instance %s, but after %v there is no such instance: its log on the master node may say why", id, appearLimit)
	case since(w.begun) > readyLimit:
		return fmt.Errorf("instance %s was not ready within %v (%s)", id, readyLimit, w.told)
	}
	for runner, at := range w.missing {
		if since(at) > runnerLimit {
			return fmt.Errorf("exo created instance %s, but no runner has come up on %s within %v: an earlier one may hang there, so restart exo on that node",
				id, w.t.name(w.t.placement.nodeOf(runner)), runnerLimit)
		}
	}
	if limit := w.t.limits.First; limit > 0 && len(w.missing) == 0 && w.t.seen && since(w.moved) > limit {
		return fmt.Errorf("instance %s has not come on for %v (%s)", id, limit, w.told)
	}
	return nil
}
