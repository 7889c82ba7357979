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
	// Tokenizer is a model folder whose config.json and
	// generation_config.json name the end tokens, which an EOS ban needs.
	Tokenizer string
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
		ban, err := endTokens(d.Options.Tokenizer)
		if err != nil {
			yield(nil, err)
			return
		}
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
			t := &Target{srv: srv, asked: m, limits: limits, wish: wishes{
				temperature: spec.Temperature, seed: spec.Seed, stream: spec.Streaming != collect.StreamNone, ban: ban}}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// onlyModel is the model to measure where none was named.
func (s server) onlyModel(ctx context.Context) (string, error) {
	l, err := s.list(ctx)
	switch {
	case err != nil:
		return "", err
	case l.status == http.StatusUnauthorized || l.status == http.StatusForbidden:
		return "", fmt.Errorf("%s answers %d when asked for its models: give its key with --api-key-env", s.Endpoint(), l.status)
	case len(l.models) == 0 && s.recognise(ctx, l).engine == "mlx_lm":
		return mlxDefault, nil
	case len(l.models) == 0:
		return "", fmt.Errorf("%s lists no models: name one with --model", s.Endpoint())
	case len(l.models) > 1:
		return "", fmt.Errorf("%s lists %d models (%s): choose with --model", s.Endpoint(), len(l.models), strings.Join(l.names(), ", "))
	}
	return l.models[0].ID, nil
}
