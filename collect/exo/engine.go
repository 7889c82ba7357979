package exo

import (
	"context"
	"encoding/json"
	"sync"

	"tokwatt/collect"
	"tokwatt/collect/openai"
)

// engine takes requests for one instance.
type engine struct {
	target     *Target
	chat       openai.Chat
	sequential bool
	told       sync.Once // that the bench endpoint bans the end token always

	mu        sync.Mutex
	live      map[*stream]bool // requests that are open
	before    map[string]task  // what ran when the batch began, by command id
	rivals    []string         // other instances of the model
	blind     bool             // it was told that no task shows where requests go
	astray    error            // requests go to one of the rivals
	endured   map[string]bool  // what has been waited for in vain, by command or runner id
	cancelled map[string]bool
}

var (
	_ collect.Engine  = (*engine)(nil)
	_ collect.Counter = (*engine)(nil)
	_ collect.Sensed  = (*engine)(nil)
)

// The endpoints. The bench endpoint generates max_tokens tokens whatever the
// model says, starts with a cold cache unless told otherwise, and states its
// statistics in every form of answer.
const (
	benchPath = "/bench/chat/completions"
	plainPath = "/v1/chat/completions"
)

func newEngine(t *Target, clock *collect.Clock) *engine {
	path := benchPath
	if t.plain {
		path = plainPath
	}
	return &engine{
		target: t, chat: openai.Chat{Server: t.Server, Clock: clock, URL: t.At(path), Model: t.model.ID},
		live: map[*stream]bool{}, endured: map[string]bool{}, cancelled: map[string]bool{},
	}
}

// Abilities of the endpoint that is used: the plain one has none.
func (e *engine) Abilities() collect.Abilities {
	if e.target.plain {
		return collect.Abilities{}
	}
	return collect.Abilities{ColdMethod: "use_prefix_cache=false", EOSBan: "bench endpoint"}
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// request is the body that exo-bench sends. Sampling is added where it is
// asked for; stop strings never are: exo would generate on behind them, beside
// the next requests.
type request struct {
	Model          string    `json:"model"`
	Messages       []message `json:"messages"`
	MaxTokens      int64     `json:"max_tokens"`
	Logprobs       *bool     `json:"logprobs,omitempty"`
	UsePrefixCache *bool     `json:"use_prefix_cache,omitempty"`
	Stream         bool      `json:"stream"`
	Temperature    *float64  `json:"temperature,omitempty"`
	Seed           *int64    `json:"seed,omitempty"`
}

func (e *engine) encode(c collect.Call) ([]byte, error) {
	r := request{Model: e.target.model.ID, MaxTokens: c.MaxTokens, Stream: c.Stream, Temperature: c.Temperature, Seed: c.Seed}
	if c.Prompt.System != "" {
		r.Messages = append(r.Messages, message{"system", c.Prompt.System})
	}
	r.Messages = append(r.Messages, message{"user", c.Prompt.User})
	if !e.target.plain {
		logprobs, warm := false, !c.Cold
		r.Logprobs, r.UsePrefixCache = &logprobs, &warm
	}
	return json.Marshal(r)
}

// Open encodes the call and dials, after the cluster has become quiet. The
// error is a *collect.Failure or the context's.
func (e *engine) Open(ctx context.Context, call collect.Call) (collect.Stream, error) {
	if !call.BanEOS && !e.target.plain {
		e.told.Do(func() {
			e.target.opts.notify("exo's bench endpoint lets no model end before max_tokens; to let it end, measure with the cache as the server has it")
		})
	}
	s, err := e.open(ctx, call, true)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// open is Open; in a batch, which begins with the first request that is open,
// it waits for the cluster.
func (e *engine) open(ctx context.Context, call collect.Call, batch bool) (*stream, error) {
	if err := e.refuse(call); err != nil {
		return nil, err
	}
	if err := e.misled(); err != nil {
		return nil, err
	}
	body, err := e.encode(call)
	if err != nil {
		return nil, collect.Failf(collect.ErrProtocol, "the request can't be encoded: %v", err)
	}
	s := &stream{engine: e, ctx: ctx, call: call, batch: batch}
	e.enter(ctx, s)
	if s.Stream, err = e.chat.Open(ctx, call, body); err != nil {
		e.leave(s)
		return nil, err
	}
	return s, nil
}

// refuse is the failure of a call that exo would misunderstand: without a
// limit it generates 32,168 tokens, and the rate of one token is nothing.
func (e *engine) refuse(c collect.Call) error {
	least := int64(2)
	if e.target.plain {
		least = 1
	}
	if c.MaxTokens < least {
		return collect.Failf(collect.ErrProtocol, "max_tokens %d is not sent to exo: it must be at least %d", c.MaxTokens, least)
	}
	return nil
}

// enter counts a stream among those that are open. The first of a batch waits
// until nothing else runs, and looks who may get its requests; the others wait
// for that. A request that may have to be cancelled looks what runs before it.
func (e *engine) enter(ctx context.Context, s *stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.batch && len(e.live) == 0 {
		e.before = e.quiet(ctx)
		e.meet(ctx)
	}
	if !s.call.Stream {
		s.before, _ = e.target.running(ctx) // what can't be asked for is not known
		s.elder = map[*stream]bool{}
		for x := range e.live {
			s.elder[x] = x.running()
		}
	}
	e.live[s] = true
}

func (e *engine) leave(s *stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.live, s)
}

// Count asks for two tokens and returns exo's own count of the prompt. It
// takes as long as a prompt of that length may, and no longer: then the error
// is a *collect.Failure of kind stall.
func (e *engine) Count(ctx context.Context, p collect.Prompt) (collect.Counted, error) {
	r, err := e.ask(ctx, p, 2, 0)
	switch {
	case err != nil:
		return collect.Counted{}, err
	case r.PromptTokens == nil || *r.PromptTokens <= 0:
		return collect.Counted{}, collect.ErrNoCount
	}
	return collect.Counted{PromptTokens: *r.PromptTokens, CachedTokens: r.CachedTokens}, nil
}
