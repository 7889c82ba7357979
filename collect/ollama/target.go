package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// Target is one model of a server.
type Target struct {
	srv   server
	asked string
	spec  collect.Spec

	described bool
	info      collect.TargetInfo
	listed    []string
	show      shownModel
	entry     model // of the server's list; zero where it is not in there

	opened *engine // nil until Open
	found  *model  // what the server had of the model in memory before that; nil: nothing
}

var (
	_ collect.Target = (*Target)(nil)
	_ collect.Lister = (*Target)(nil)
)

// Listed are the models that the server has, after Describe.
func (t *Target) Listed() []string { return t.listed }

// Describe says what the server tells of itself and of the model, with requests
// that change nothing: no model is loaded. It fails with a *collect.Failure when
// no HTTP answer comes. Called again after Open it also says what the loaded
// model takes, and what is sent with each request.
func (t *Target) Describe(ctx context.Context) (collect.TargetInfo, error) {
	if t.described {
		return t.info, nil
	}
	t.info = collect.TargetInfo{Engine: "ollama", Driver: "ollama", Endpoint: t.srv.Endpoint(), ModelID: shown(t.asked), ServedModel: shown(t.asked)}
	version, err := t.srv.version(ctx)
	if err != nil {
		return t.info, err
	}
	// The server is alive: what else it does not tell is not told.
	l, _ := t.srv.tags(ctx)
	t.show, _ = t.srv.show(ctx, t.asked)
	if ctx.Err() != nil {
		return t.info, ctx.Err()
	}
	t.info.EngineVersion, t.info.Endpoint = version, t.srv.Endpoint()
	t.listed = l.names()
	m, ok := l.find(t.asked)
	if ok {
		t.info.ServedModel, t.entry = shown(m.name()), m
	}
	t.info.Unlisted = !ok && len(l.models) > 0
	t.info.ModelFormat = t.fact(cmp.Or(t.show.Details.Format, m.Details.Format))
	t.info.Quantization = t.fact(cmp.Or(t.show.Details.QuantizationLevel, m.Details.QuantizationLevel))
	t.show.Details.ParameterSize = cmp.Or(t.show.Details.ParameterSize, m.Details.ParameterSize)
	t.described = true
	return t.info, nil
}

// fact is a text of the server's as it may be stored.
func (t *Target) fact(text string) string {
	return t.srv.Redact(wire.Clip(wire.OneLine(text), wire.MaxReason))
}

// Open loads the model with a context window that all requests fit into. It
// fails with the context, and where the model, or the server's own limit, is too
// short for a pair of the spec. That the server can't load the model is not an error here: the measured
// requests will fail, and say why.
func (t *Target) Open(ctx context.Context, clock *collect.Clock) (collect.Engine, error) {
	if _, err := t.Describe(ctx); err != nil {
		return nil, err
	}
	n, err := window(t.spec, t.show.contextLength(), len(t.show.System))
	if err != nil {
		return nil, err
	}
	before, err := t.loaded(ctx)
	if err != nil {
		return nil, err
	}
	e := &engine{srv: t.srv, clock: clock, model: t.asked, url: t.srv.At("/api/generate"), window: n, keep: keepAlive(t.spec), limits: t.spec.Limits()}
	report, took, failure := e.load(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t.found, t.opened = before, e
	now, err := t.loaded(ctx)
	if err != nil {
		return nil, err
	}
	t.info.ContextTokens = &n
	if now != nil {
		t.info.ModelBytes, t.info.ModelGPUBytes = bytesOf(now.Size), bytesOf(now.SizeVRAM)
		if c := whole(now.ContextLength.V); c != nil && *c > 0 {
			t.info.ContextTokens = c
		}
	}
	if failure == nil {
		if err := shortOf(t.spec, *t.info.ContextTokens, n); err != nil {
			return nil, err
		}
		t.info.LoadS = loadTime(report, took, before, n)
	}
	t.info.Sampling, err = t.sampling(n)
	return e, err
}

// loaded is what the server has of the model in memory; nil: nothing, or it
// does not say. The only error is the context's.
func (t *Target) loaded(ctx context.Context) (*model, error) {
	l, err := t.srv.running(ctx)
	if err != nil {
		return nil, ctx.Err()
	}
	if m, ok := l.find(t.asked); ok {
		return &m, nil
	}
	return nil, nil
}

// bytesOf is a size; nil for one that is not told.
func bytesOf(n wire.Number) *int64 {
	size := whole(n.V)
	if size == nil || *size < 0 {
		return nil
	}
	return size
}

// loadTime is how long the model took to load, in seconds: by the server where
// it says so, else by our clock. Nil where the model was there before, with the
// same window or one that is not known.
func loadTime(r collect.Report, took int64, before *model, window int64) *float64 {
	s := float64(took) / 1e9
	switch {
	case before != nil && (before.ContextLength.V == nil || *before.ContextLength.V == float64(window)):
		return nil
	case r.LoadNS != nil && *r.LoadNS > 0:
		s = *r.LoadNS / 1e9
	}
	return &s
}

// sampling is what goes out with each request and what the server has set for
// the model, as JSON.
func (t *Target) sampling(window int64) (string, error) {
	sent := map[string]any{"num_ctx": window, "keep_alive_s": seconds(keepAlive(t.spec))}
	if t.spec.Temperature != nil {
		sent["temperature"] = *t.spec.Temperature
	}
	if t.spec.Seed != nil {
		sent["seed"] = *t.spec.Seed
	}
	has := map[string]any{}
	for name, v := range map[string]string{
		"parameters": t.show.Parameters, "parameter_size": t.show.Details.ParameterSize, "digest": t.entry.Digest,
		"remote_host": t.entry.Remote,
	} {
		if v != "" {
			has[name] = t.fact(v)
		}
	}
	if n := t.show.contextLength(); n != nil {
		has["context_length"] = *n
	}
	all := map[string]any{"sent": sent}
	if len(has) > 0 {
		all["model"] = has
	}
	raw, err := json.Marshal(all)
	return string(raw), err
}

// How long Close waits: for an answer, and for the model to be gone.
const (
	closeAnswer = 10 * time.Second
	unloadTime  = 30 * time.Second
	unloadPoll  = 100 * time.Millisecond
)

// Close frees the model and waits until it is gone, where the spec says so.
// Else it stays in memory as long as Ollama keeps one by default, or as long as
// it was to stay when it was found there.
func (t *Target) Close(ctx context.Context) error {
	e := t.opened
	if e == nil {
		return nil
	}
	t.opened = nil
	if t.spec.Unload {
		return t.unload(ctx, e.url)
	}
	if keep := t.foundKeep(time.Now()); keep < 0 || keep > e.keep {
		g := e.body(collect.Call{MaxTokens: 1})
		g.KeepAlive = seconds(keep)
		return t.tell(ctx, e.url, g)
	}
	return nil
}

// forEver is from which time on a model does not expire: Ollama writes "never"
// as a date some centuries ahead.
const forEver = 10 * 365 * 24 * time.Hour

// foundKeep is how much longer the model was to stay in memory when it was found
// there; negative: for ever.
func (t *Target) foundKeep(now time.Time) time.Duration {
	if t.found == nil {
		return 0
	}
	at, err := time.Parse(time.RFC3339Nano, t.found.ExpiresAt)
	switch left := at.Sub(now); {
	case err != nil:
		return 0
	case left > forEver:
		return -time.Second
	default:
		return max(0, left)
	}
}

// tell sends a request whose answer says nothing but that it was understood.
func (t *Target) tell(ctx context.Context, u *url.URL, g generate) error {
	short, cancel := context.WithTimeout(ctx, closeAnswer)
	defer cancel()
	r, err := t.srv.Do(short, http.MethodPost, u, g)
	if err == nil && r.Status != http.StatusOK {
		err = r.Failure()
	}
	return err
}

// unload frees the model, which an empty prompt with keep_alive 0 means to
// Ollama, and waits until the server no longer lists it.
func (t *Target) unload(ctx context.Context, u *url.URL) error {
	if err := t.tell(ctx, u, generate{Model: t.asked, Options: options{NumCtx: *t.info.ContextTokens, NumPredict: 1}}); err != nil {
		return fmt.Errorf("%s may still be in the server's memory: %w", t.info.ModelID, err)
	}
	short, cancel := context.WithTimeout(ctx, unloadTime)
	defer cancel()
	for {
		m, err := t.loaded(short)
		if m == nil && err == nil {
			return nil
		}
		select {
		case <-short.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.New(t.info.ModelID + " is still in the server's memory, " + unloadTime.String() + " after it was told to free it: ollama stop frees it")
		case <-time.After(unloadPoll):
		}
	}
}
