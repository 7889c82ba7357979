package openai

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// Options say where the server is and how to talk to it.
type Options struct {
	// URL is the base URL, with or without /v1, behind any path prefix.
	URL string
	// APIKeyEnv names the environment variable that holds the API key. The
	// key goes out with every request and is never stored or printed.
	APIKeyEnv string
	// Headers are sent with every request.
	Headers map[string]string
	// EndTokens are the ids of a model's end tokens, which a ban by logit bias
	// needs; none where they are not known. nil: they never are.
	EndTokens func(model string) ([]int64, error)
}

// Driver measures the models of one server.
type Driver struct{ Options Options }

var _ collect.Driver = Driver{}

// Targets yields one target for each model of the spec, and where it names
// none, the one model that the server lists. A server that can't be reached
// is found out by Describe where models are named, and here where they are
// not.
func (d Driver) Targets(ctx context.Context, spec collect.Spec) iter.Seq2[collect.Target, error] {
	return func(yield func(collect.Target, error) bool) {
		srv, err := newServer(d.Options)
		if err != nil {
			yield(nil, err)
			return
		}
		limits := spec.Limits()
		srv.Limit(limits.Answer(wire.ControlTimeout))
		models := spec.Models
		if len(models) == 0 {
			only, err := srv.onlyModel(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			models = []string{only}
		}
		for _, m := range models {
			wish, err := d.wishes(spec, m)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&Target{srv: srv, asked: m, limits: limits, wish: wish}, nil) {
				return
			}
		}
	}
}

// wishes are those of a spec for one model.
func (d Driver) wishes(spec collect.Spec, model string) (wishes, error) {
	w := wishes{
		temperature: spec.Temperature, seed: spec.Seed, stream: spec.Streaming != collect.StreamNone,
		keepOn: !spec.NoEOSBan, fresh: spec.Cache == "" || spec.Cache == collect.CacheCold,
		reuse: spec.Cache == collect.CachePrefix,
	}
	if !w.keepOn || d.Options.EndTokens == nil {
		return w, nil
	}
	var err error
	w.ends, err = d.Options.EndTokens(model)
	return w, err
}

// onlyModel is the model to measure where none was named.
func (s server) onlyModel(ctx context.Context) (string, error) {
	f, err := s.learn(ctx)
	if err != nil {
		return "", err
	}
	l := f.list
	switch {
	case l.status == http.StatusUnauthorized || l.status == http.StatusForbidden:
		return "", errNoKey(s.Endpoint(), l.status)
	case len(l.models) > 1:
		return "", fmt.Errorf("%s lists %d models (%s): choose with --model", s.Endpoint(), len(l.models), strings.Join(l.names(), ", "))
	case len(l.models) == 1:
		return l.models[0].ID, nil
	}
	if id := f.recognise(ctx, f.list.models).anonymous; id != "" {
		return id, nil
	}
	return "", fmt.Errorf("%s lists no models: name one with --model", s.Endpoint())
}

func errNoKey(endpoint string, status int) error {
	return fmt.Errorf("%s answers %d when asked for its models: give its key with --api-key-env", endpoint, status)
}
