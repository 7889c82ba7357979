package openai

import (
	"context"
	"net/url"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// engine takes requests for one model.
type engine struct {
	srv     server
	clock   *collect.Clock
	model   string   // as the server names it
	url     *url.URL // where requests go, behind all redirects that are known
	dialect dialect
	send    wishes // what the server takes
	limits  collect.Limits
}

var (
	_ collect.Engine  = (*engine)(nil)
	_ collect.Counter = (*engine)(nil)
)

// Abilities of the engine: what its dialect has and its server did not refuse.
func (e *engine) Abilities() collect.Abilities { return e.dialect.abilities(e.send) }

// Open encodes the call and dials. The error is a *collect.Failure or the
// context's.
func (e *engine) Open(ctx context.Context, call collect.Call) (collect.Stream, error) {
	body, err := e.send.encode(e.model, call)
	if err != nil {
		return nil, collect.Failf(collect.ErrProtocol, "the request can't be encoded: %v", err)
	}
	s, err := e.open(ctx, call.Stream, call.Streams > 1, body)
	if err != nil {
		return nil, err
	}
	s.tokens = call.MaxTokens
	return s, nil
}

func (e *engine) open(ctx context.Context, streamed, fellows bool, body []byte) (*stream, error) {
	m := wire.Message{URL: e.url, Body: body, Accept: "application/json", Fellows: fellows}
	if streamed {
		m.Accept = "text/event-stream"
	}
	x, err := e.srv.Open(ctx, e.clock, m)
	if err != nil {
		return nil, err
	}
	return &stream{Exchange: x, model: e.model, streamed: streamed, hurry: x.Hurry}, nil
}

// Count asks for one token and returns the server's own count of the prompt.
// It takes as long as a prompt of that length may, and no longer: then the
// error is a *collect.Failure of kind stall.
func (e *engine) Count(ctx context.Context, p collect.Prompt) (collect.Counted, error) {
	limit := e.limits.Answer(0)
	if limit == 0 {
		return e.count(ctx, p)
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := e.count(short, p)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		err = collect.Failf(collect.ErrStall, "no answer to a request of one token within %v", limit)
	}
	return c, err
}

func (e *engine) count(ctx context.Context, p collect.Prompt) (collect.Counted, error) {
	plain := *e
	plain.send.warm = "" // a prompt that is only counted is none to be reused
	s, err := plain.Open(ctx, collect.Call{Prompt: p, MaxTokens: 1, Streams: 1})
	if err != nil {
		return collect.Counted{}, err
	}
	defer s.Close()
	var report collect.Report
	for a, err := range s.Arrivals() {
		if err != nil {
			return collect.Counted{}, err
		}
		if a.Report != nil {
			report = *a.Report
		}
	}
	if report.PromptTokens == nil || *report.PromptTokens <= 0 {
		return collect.Counted{}, collect.ErrNoCount
	}
	return collect.Counted{PromptTokens: *report.PromptTokens, CachedTokens: report.CachedTokens}, nil
}
