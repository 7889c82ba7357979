package openai

import (
	"cmp"
	"context"
	"encoding/json"

	"tokwatt/collect"
)

// Target is one model of a server.
type Target struct {
	srv    server
	asked  string
	wish   wishes
	limits collect.Limits

	described bool
	info      collect.TargetInfo
	listed    []string
	dialect   dialect
	served    string // the id on the wire
}

var _ collect.Target = (*Target)(nil)

// Listed are the models that the server lists, as they may be shown: what to
// offer when TargetInfo.Unlisted is true. Empty before Describe, and where
// the server lists none.
func (t *Target) Listed() []string { return t.listed }

// Describe says what the server tells of itself and of the model, with GET
// requests only. It fails with a *collect.Failure when no HTTP answer comes.
// Called again after Open it also says what is sent with each request.
func (t *Target) Describe(ctx context.Context) (collect.TargetInfo, error) {
	if t.described {
		return t.info, nil
	}
	t.info = collect.TargetInfo{Driver: "openai", Endpoint: t.srv.Endpoint(), ModelID: shown(t.asked), Engine: unknownEngine}
	f, err := t.srv.learn(ctx)
	if err != nil {
		return t.info, err
	}
	t.described = true
	t.listed = f.list.names()
	d := f.recogniseFor(ctx, t.asked)
	t.dialect = d
	t.info.Endpoint = t.srv.Endpoint()
	t.info.Engine, t.info.EngineVersion = d.engine, f.version(ctx, d)
	t.info.MaxStreams = f.streams(ctx, d)
	t.info.ModelFormat = d.format
	t.served = t.asked
	m, listed := find(f.models(ctx, d), t.asked)
	if listed {
		t.served = m.ID
		t.info.Quantization = t.srv.Redact(shownFact(cmp.Or(m.Quantization, m.Meta.FileType)))
		t.info.ModelFormat = cmp.Or(t.srv.Redact(shownFact(m.Compatibility)), d.format)
	}
	t.info.ServedModel = shown(t.served)
	t.info.Unlisted = !listed && len(f.list.models) > 0 && (d.anonymous == "" || t.asked != d.anonymous)
	return t.info, nil
}

// Open probes what the server takes. It fails only with the context.
func (t *Target) Open(ctx context.Context, clock *collect.Clock) (collect.Engine, error) {
	if _, err := t.Describe(ctx); err != nil {
		return nil, err
	}
	e := &engine{srv: t.srv, clock: clock, model: t.served, url: t.srv.At("/chat/completions"), dialect: t.dialect, limits: t.limits,
		send: t.dialect.wishes(t.wish, t.info.EngineVersion)}
	seen, err := e.probe(ctx)
	if err == nil && t.dialect.disproved(seen) {
		t.mistaken()
		e.dialect, e.send = t.dialect, t.dialect.wishes(t.wish, "")
		seen, err = e.probe(ctx)
	}
	if err != nil {
		return nil, err
	}
	if t.info.EngineVersion == "" && t.dialect.fingerprint {
		t.info.EngineVersion = fingerprinted(t.srv.Redact(seen)) // which takes a part
	}
	e.dialect = t.dialect.weighed(t.info.EngineVersion, seen)
	sampling, err := json.Marshal(map[string]any{"sent": e.send.sampling()})
	if err != nil {
		return nil, err
	}
	t.info.Sampling = string(sampling)
	return e, nil
}

// mistaken takes back what was said of an engine that the server turned out not
// to be.
func (t *Target) mistaken() {
	if t.info.ModelFormat == t.dialect.format {
		t.info.ModelFormat = ""
	}
	t.info.Engine, t.info.EngineVersion, t.info.MaxStreams = unknownEngine, "", nil
	t.dialect = unknown
}

// Close has nothing to undo: the server and its model are not ours.
func (t *Target) Close(context.Context) error { return nil }
