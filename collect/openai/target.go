package openai

import (
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
	l, err := t.srv.list(ctx)
	if err != nil {
		return t.info, err
	}
	t.described = true
	t.listed = l.names()
	t.dialect = t.srv.recognise(ctx, l)
	t.info.Endpoint = t.srv.Endpoint()
	t.info.Engine = t.dialect.engine
	if t.dialect.timings != nil && *t.dialect.timings {
		t.info.EngineVersion = t.srv.build(ctx)
	}
	t.served = t.asked
	m, ok := l.find(t.asked)
	if ok {
		t.served = m.ID
		t.info.Quantization = m.Meta.FileType
		if t.dialect.engine == "llama.cpp" || t.dialect.engine == "llama_cpp.server" {
			t.info.ModelFormat = "gguf"
		}
	}
	t.info.ServedModel = shown(t.served)
	t.info.Unlisted = !ok && len(l.models) > 0 && t.asked != mlxDefault
	return t.info, nil
}

// mlxDefault is the name under which mlx_lm.server takes requests for the
// model it was started with; it is never in its list.
const mlxDefault = "default_model"

// Open probes what the server takes. It fails only with the context.
func (t *Target) Open(ctx context.Context, clock *collect.Clock) (collect.Engine, error) {
	if _, err := t.Describe(ctx); err != nil {
		return nil, err
	}
	e := &engine{srv: t.srv, clock: clock, model: t.served, url: t.srv.At("/chat/completions"), dialect: t.dialect, send: t.wish, limits: t.limits}
	seen, err := e.probe(ctx)
	if err != nil {
		return nil, err
	}
	if t.info.EngineVersion == "" && t.dialect.engine == "mlx_lm" {
		t.info.EngineVersion = mlxVersion(seen)
	}
	sampling, err := json.Marshal(map[string]any{"sent": e.send.sampling()})
	if err != nil {
		return nil, err
	}
	t.info.Sampling = string(sampling)
	return e, nil
}

// Close has nothing to undo: the server and its model are not ours.
func (t *Target) Close(context.Context) error { return nil }
