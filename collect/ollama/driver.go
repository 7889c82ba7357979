package ollama

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
	// URL is the address, with or without a scheme and a port, behind any path
	// prefix; empty: DefaultURL.
	URL string
	// APIKeyEnv names the environment variable that holds the key of a gateway
	// before the server. The key goes out with every request and is never
	// stored or printed.
	APIKeyEnv string
	// Headers are sent with every request.
	Headers map[string]string
}

// Driver measures the models of one server.
type Driver struct{ Options Options }

var _ collect.Driver = Driver{}

// Targets yields one target for each model of the spec, and where it names
// none, the one model that the server has. A server that can't be reached is
// found out by Describe where models are named, and here where they are not.
func (d Driver) Targets(ctx context.Context, spec collect.Spec) iter.Seq2[collect.Target, error] {
	return func(yield func(collect.Target, error) bool) {
		srv, err := newServer(d.Options)
		if err != nil {
			yield(nil, err)
			return
		}
		srv.Limit(spec.Limits().Answer(wire.ControlTimeout))
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
			if !yield(&Target{srv: srv, asked: m, spec: spec}, nil) {
				return
			}
		}
	}
}

// onlyModel is the model to measure where none was named.
func (s server) onlyModel(ctx context.Context) (string, error) {
	l, err := s.tags(ctx)
	switch {
	case err != nil:
		return "", err
	case l.status == http.StatusUnauthorized || l.status == http.StatusForbidden:
		return "", fmt.Errorf("%s answers %d when asked for its models: give its key with --api-key-env", s.Endpoint(), l.status)
	case l.status != http.StatusOK:
		return "", fmt.Errorf("%s answers %d when asked for its models, as Ollama does not: check --url, or name a model with --model", s.Endpoint(), l.status)
	case len(l.models) == 0:
		return "", fmt.Errorf("%s has no models: get one with ollama pull, or name one with --model", s.Endpoint())
	case len(l.models) > 1:
		return "", fmt.Errorf("%s has %d models (%s): choose with --model", s.Endpoint(), len(l.models), strings.Join(l.names(), ", "))
	}
	return l.models[0].name(), nil
}
