package openai

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"tokwatt/collect"
)

// How long a probe may take: to its answer, which may load a model, and from
// there to its end.
const (
	probeTimeout = 60 * time.Second
	probeEnd     = 15 * time.Second
)

// probed is what came of a probe.
type probed struct {
	refused bool   // a status by which servers refuse a field
	body    string // the beginning of the answer
}

// probe asks for one token with all optional fields, and where that is
// refused, with each of them alone, to leave out those that are. It also
// moves the engine's URL behind redirects. It ends no target: where even the
// plain request fails, everything is kept, and the failure of the measured
// request will be the row. The only error is the context's. An engine that
// is known to refuse nothing is asked all the same, once: for its version
// and its redirects, and so that its first measured request finds it awake.
func (e *engine) probe(ctx context.Context) (seen string, err error) {
	all := e.send
	got, err := e.ask(ctx, all)
	if err != nil || !got.refused {
		return got.body, err
	}
	bare := wishes{stream: all.stream, noUsage: true}
	if got, err = e.ask(ctx, bare); err != nil || got.refused {
		return got.body, err
	}
	kept := all
	for _, field := range optional {
		if _, has := all.without(field); !has {
			continue
		}
		if got, err = e.ask(ctx, only(all, field)); err != nil {
			return "", err
		}
		if got.refused {
			kept, _ = kept.without(field)
		}
	}
	e.send = kept
	return got.body, nil
}

// only are the wishes of w less all optional fields but one.
func only(w wishes, kept field) wishes {
	for _, f := range optional {
		if f != kept {
			w, _ = w.without(f)
		}
	}
	return w
}

// ask sends a request for one token. That it fails is a result like another.
func (e *engine) ask(ctx context.Context, w wishes) (probed, error) {
	body, err := w.encode(e.model, collect.Call{
		Prompt: collect.Prompt{User: "Hello"}, MaxTokens: 1, Stream: w.stream,
		Temperature: w.temperature, Seed: w.seed, BanEOS: true, Cold: w.warm == "", Streams: 1,
	})
	if err != nil {
		return probed{}, nil
	}
	short, cancel := context.WithTimeout(ctx, e.limits.Answer(probeTimeout))
	defer cancel()
	s, err := e.open(short, w.stream, false, body)
	if err != nil {
		return probed{}, ctx.Err()
	}
	defer s.Close()
	resp, err := s.Answer()
	if err != nil {
		return probed{}, ctx.Err()
	}
	if resp.StatusCode < 300 || resp.StatusCode > 399 {
		e.url = s.URL()
	}
	// The end is waited for, so that the probe does not run on beside a
	// measured request, but not for ever.
	stop := time.AfterFunc(probeEnd, cancel)
	defer stop.Stop()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return probed{refuses(resp.StatusCode), string(raw)}, ctx.Err()
}

// refuses tells the statuses by which servers refuse a field from those that
// mean something else: a missing key, a busy server, an unknown model.
func refuses(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusUnsupportedMediaType, http.StatusNotAcceptable:
		return true
	}
	return false
}

// fingerprinted is the version in the system_fingerprint of an answer, which
// mlx_lm makes of its version, MLX's and the platform, joined by hyphens.
func fingerprinted(answer string) string {
	_, after, _ := strings.Cut(answer, `"system_fingerprint":`)
	after, ok := strings.CutPrefix(strings.TrimLeft(after, " "), `"`)
	version, _, hyphen := strings.Cut(after, "-")
	if !ok || !hyphen || strings.Contains(version, `"`) {
		return ""
	}
	return shownFact(version)
}
