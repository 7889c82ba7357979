package exo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"tokwatt/collect"
)

// task is an entry of GET /state/tasks that makes tokens or pictures. exo
// lists those that wait and run, with their whole prompt and the sampling in
// force; a finished one is gone from the list, a cancelled one stays.
type task struct {
	Status   string     `json:"taskStatus"`
	Instance string     `json:"instanceId"`
	Command  string     `json:"commandId"`
	Params   taskParams `json:"taskParams"`
}

// taskParams are those of a request as exo understood them.
type taskParams struct {
	Model  string `json:"model"`
	System string `json:"instructions"`
	Input  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"input"`
	MaxTokens   *int64                     `json:"max_output_tokens"`
	Bench       *bool                      `json:"bench"`
	Stream      *bool                      `json:"stream"`
	PrefixCache *bool                      `json:"use_prefix_cache"`
	Temperature *float64                   `json:"temperature"`
	Seed        *int64                     `json:"seed"`
	all         map[string]json.RawMessage // every field
}

func (p *taskParams) UnmarshalJSON(raw []byte) error {
	type plain taskParams
	_ = json.Unmarshal(raw, (*plain)(p)) // fields of odd types match nothing
	_ = json.Unmarshal(raw, &p.all)
	return nil
}

// samplingFields are the settings that say how tokens are drawn.
var samplingFields = []string{"temperature", "top_p", "top_k", "min_p", "seed", "repetition_penalty", "repetition_context_size", "presence_penalty", "frequency_penalty"}

// sampling is what exo uses, without what it does not set.
func (p taskParams) sampling() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, f := range samplingFields {
		if v := p.all[f]; v != nil && string(v) != "null" {
			out[f] = v
		}
	}
	return out
}

// busy are the kinds of tasks that take the engine's time.
var busy = []string{"TextGeneration", "ImageGeneration", "ImageEdits"}

// running are the tasks that wait or run in the whole cluster, by their
// command ids: those of any instance, since instances share nodes. The map is
// nil where exo keeps no list.
func (a api) running(ctx context.Context) (map[string]task, error) {
	var all map[string]json.RawMessage
	if found, err := a.get(ctx, "/state/tasks", &all); err != nil || !found {
		return nil, err
	}
	out := map[string]task{}
	for _, raw := range all {
		tagged := only(raw)
		var t task
		if slices.Contains(busy, tagged.key) && json.Unmarshal(tagged.raw, &t) == nil {
			if t.Command != "" && (t.Status == "Pending" || t.Status == "Running") {
				out[t.Command] = t
			}
		}
	}
	return out, nil
}

// asks reports whether a task is of a request like the call, on whatever
// instance, in all that it tells. Without its prompt that says little.
func (p taskParams) asks(e *engine, c collect.Call) bool {
	switch {
	case p.Model != e.target.model.ID, p.MaxTokens == nil || *p.MaxTokens != c.MaxTokens, p.Bench == nil || *p.Bench == e.target.plain:
		return false
	case p.Stream != nil && *p.Stream != c.Stream, !e.target.plain && p.PrefixCache != nil && *p.PrefixCache == c.Cold:
		return false
	case c.Temperature != nil && p.Temperature != nil && *p.Temperature != *c.Temperature:
		return false
	case p.Seed != nil && (c.Seed == nil || *p.Seed != *c.Seed):
		return false
	}
	if p.Input == nil {
		return true
	}
	prompt, ok := p.prompt()
	return ok && prompt == c.Prompt
}

// prompt is the conversation of a task; false where it is none that
// this package sends. exo has the system message beside the others.
func (p taskParams) prompt() (prompt collect.Prompt, ok bool) {
	prompt.System = p.System
	users := 0
	for _, m := range p.Input {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			return prompt, false
		}
		switch m.Role {
		case "user":
			prompt.User = text
			users++
		case "system":
			prompt.System = text
		default:
			return prompt, false
		}
	}
	return prompt, users == 1
}

// How long is waited for what else runs, before each batch, and how often is
// looked at most.
const (
	leftoverWait = 2 * time.Minute
	leftoverPoll = 250 * time.Millisecond
)

// quiet waits until nothing else runs in the cluster, since that would be
// measured too. It does not wait for ever, nor twice for the same thing. The
// tasks that still run then are returned: none of them is ours.
func (e *engine) quiet(ctx context.Context) map[string]task {
	end := time.Now().Add(leftoverWait)
	told := false
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, leftoverPoll) {
		tasks, err := e.target.running(ctx)
		if err != nil {
			return nil // the measured request will say what is wrong
		}
		runners := e.working(ctx)
		left := slices.Concat(slices.Collect(maps.Keys(tasks)), runners)
		left = slices.DeleteFunc(left, func(id string) bool { return e.endured[id] })
		if len(left) == 0 || ctx.Err() != nil {
			return tasks
		}
		if time.Now().After(end) {
			e.target.opts.notify("%s after %v: what is measured now is measured beside that", busyWith(tasks, runners), leftoverWait)
			for _, id := range left {
				e.endured[id] = true
			}
			return tasks
		}
		if !told && pause == leftoverPoll {
			told = true
			e.target.opts.notify("%s: it is waited for, up to %v", busyWith(tasks, runners), leftoverWait)
		}
		sleep(ctx, pause)
	}
}

// working are the instance's runners that run something. exo takes a request
// that was cancelled off its list at once, but its runner may go on with it to
// its end; then only its state tells.
func (e *engine) working(ctx context.Context) []string {
	var out []string
	for _, id := range e.target.placement.order {
		var raw json.RawMessage
		if _, err := e.target.get(ctx, "/state/runners/"+id, &raw); err == nil && only(raw).key == "RunnerRunning" {
			out = append(out, id)
		} else {
			delete(e.endured, id)
		}
	}
	return out
}

// busyWith says what the cluster does.
func busyWith(tasks map[string]task, runners []string) string {
	switch {
	case len(tasks) == 0 && len(runners) > 0:
		return "the instance still works on a request that was given up"
	case len(tasks) == 1:
		return "another request runs in the cluster"
	}
	return fmt.Sprintf("%d other requests run in the cluster", len(tasks))
}

// How long a request may take to be seen among the tasks, so that it can be
// cancelled.
const (
	cancelLimit = 3 * time.Second
	cancelPoll  = 150 * time.Millisecond
)

// cancel ends the request of a stream that nobody waits for. exo goes on with
// a request whose connection is closed, unless it is a stream, and its answer
// would have told its id. So the id is looked up among the tasks. A request
// that could be another client's is left alone.
func (e *engine) cancel(ctx context.Context, s *stream) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer stop()
	for {
		all, err := e.target.running(ctx)
		if err != nil {
			return
		}
		id, sure := e.claim(all, s)
		switch {
		case id != "":
			if _, err := e.target.do(ctx, http.MethodPost, "/v1/cancel/"+id, nil); err != nil && status(err) != http.StatusNotFound {
				e.target.opts.notify("a request that is no longer waited for can't be cancelled: %v", err)
			}
			return
		case !sure:
			e.target.opts.notify("a request that is no longer waited for runs on: another client's can't be told from it")
			return
		}
		if !sleep(ctx, cancelPoll) {
			return
		}
	}
}

// claim finds the request of s among the tasks: on our instance, the very same
// in all that the task tells, and not there before s was sent. None is ours for
// sure where there are more of a kind than we have sent: requests that are
// alike can't be told apart, and among ours it does not matter which one is
// taken. It is empty where no task fits, and not sure where too many do, or
// where one doesn't say what it is of.
func (e *engine) claim(all map[string]task, s *stream) (id string, sure bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.before == nil {
		return "", false
	}
	var fits []string
	mute := false
	for id, t := range all {
		if _, before := s.before[id]; before || e.cancelled[id] || t.Instance != e.target.placement.id {
			continue
		}
		if t.Params.asks(e, s.call) {
			fits = append(fits, id)
			mute = mute || t.Params.Input == nil
		}
	}
	switch {
	case len(fits) == 0:
		return "", true
	case mute || len(fits) > e.alike(s):
		return "", false
	}
	e.cancelled[fits[0]] = true
	s.claimed = true
	return fits[0], true
}

// alike counts our requests that run and can't be told from s: those which had
// been sent when s looked what ran are not among them.
func (e *engine) alike(s *stream) int {
	n := 0
	for x := range e.live {
		if !x.claimed && !s.elder[x] && x.running() && x.call.Prompt == s.call.Prompt && x.call.MaxTokens == s.call.MaxTokens && x.call.Stream == s.call.Stream {
			n++
		}
	}
	return n
}
