package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// engine takes requests for one model.
type engine struct {
	srv    server
	clock  *collect.Clock
	model  string        // as it was asked for: the server resolves it, and answers in its words
	url    *url.URL      // where requests go, behind all redirects that are known
	window int64         // num_ctx
	keep   time.Duration // keep_alive
	limits collect.Limits
	cuts   cuts // what prompts were counted as
}

var (
	_ collect.Engine  = (*engine)(nil)
	_ collect.Counter = (*engine)(nil)
)

// Abilities of the engine: none. It has no switch for a cold cache, so the
// prompter has to make prompts that no cache can serve, and none for end tokens.
func (e *engine) Abilities() collect.Abilities { return collect.Abilities{} }

// generate is the body of a request.
type generate struct {
	Model     string  `json:"model"`
	Prompt    string  `json:"prompt"`
	System    string  `json:"system,omitempty"`
	Stream    bool    `json:"stream"`
	KeepAlive int64   `json:"keep_alive"` // seconds; negative: for ever
	Options   options `json:"options"`
}

type options struct {
	NumCtx      int64    `json:"num_ctx"`
	NumPredict  int64    `json:"num_predict"`
	Temperature *float64 `json:"temperature,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
}

// body is the request of a call. num_ctx and keep_alive are the same in all.
func (e *engine) body(c collect.Call) generate {
	return generate{
		Model: e.model, Prompt: c.Prompt.User, System: c.Prompt.System, Stream: c.Stream,
		KeepAlive: seconds(e.keep),
		Options:   options{NumCtx: e.window, NumPredict: c.MaxTokens, Temperature: c.Temperature, Seed: c.Seed},
	}
}

// seconds is a keep_alive, rounded up: 0 would unload the model. Negative means
// for ever.
func seconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return int64((d + time.Second - 1) / time.Second)
}

// Open encodes the call and dials. The error is a *collect.Failure or the
// context's.
func (e *engine) Open(ctx context.Context, call collect.Call) (collect.Stream, error) {
	return e.open(ctx, e.body(call), call.Streams > 1)
}

func (e *engine) open(ctx context.Context, g generate, fellows bool) (*stream, error) {
	body, err := json.Marshal(g)
	if err != nil {
		return nil, collect.Failf(collect.ErrProtocol, "the request can't be encoded: %v", err)
	}
	m := wire.Message{URL: e.url, Body: body, Accept: "application/json", Fellows: fellows}
	if g.Stream {
		m.Accept = "application/x-ndjson"
	}
	x, err := e.srv.Open(ctx, e.clock, m)
	if err != nil {
		return nil, err
	}
	return &stream{Exchange: x, model: e.model, streamed: g.Stream, tokens: g.Options.NumPredict, hurry: x.Hurry}, nil
}

// Count asks for one token and returns the server's own count of the prompt. It
// takes as long as a prompt of that length may, and no longer: then the error
// is a *collect.Failure of kind stall.
//
// Older servers tell no count of a prompt that they have in their cache whole,
// which is ErrNoCount, and some only that of the part that was not in it. So
// each prompt to be counted should have a front of its own, as a prompter's
// cold prompts do. A prompt that the server has cut is a *cutError.
func (e *engine) Count(ctx context.Context, p collect.Prompt) (collect.Counted, error) {
	r, err := e.ask(ctx, e.body(collect.Call{Prompt: p, MaxTokens: 1}))
	if err != nil {
		return collect.Counted{}, err
	}
	if r.PromptTokens == nil || *r.PromptTokens <= 0 {
		return collect.Counted{}, collect.ErrNoCount
	}
	if e.cuts.note(p, *r.PromptTokens) {
		return collect.Counted{}, &cutError{*r.PromptTokens, e.window}
	}
	return collect.Counted{PromptTokens: *r.PromptTokens, CachedTokens: r.CachedTokens}, nil
}

// load asks for the model and nothing else, which an empty prompt means to
// Ollama, and learns where redirects lead. took is how long that was, in ns on
// our clock. Whoever takes the empty prompt for one makes no more than a token
// of it.
func (e *engine) load(ctx context.Context) (r collect.Report, took int64, err error) {
	begun := e.clock.Now()
	r, err = e.ask(ctx, e.body(collect.Call{MaxTokens: 1}))
	return r, e.clock.Now() - begun, err
}

// ask sends a request that is not measured, and returns what the server says of
// it. It waits as long as for a measured one. The error is a *collect.Failure or
// the context's.
func (e *engine) ask(ctx context.Context, g generate) (collect.Report, error) {
	limit := e.limits.Answer(0)
	if limit == 0 {
		return e.exchange(ctx, g)
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := e.exchange(short, g)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		err = collect.Failf(collect.ErrStall, "no answer to a request of one token within %v", limit)
	}
	return r, err
}

func (e *engine) exchange(ctx context.Context, g generate) (collect.Report, error) {
	s, err := e.open(ctx, g, false)
	if err != nil {
		return collect.Report{}, err
	}
	defer s.Close()
	var report collect.Report
	for a, err := range s.Arrivals() {
		if err != nil {
			return collect.Report{}, err
		}
		if a.Report != nil {
			report = *a.Report
			if a.HTTPStatus != nil && *a.HTTPStatus == http.StatusOK {
				e.url = s.URL()
			}
		}
	}
	return report, nil
}
