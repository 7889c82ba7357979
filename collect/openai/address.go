package openai

import (
	"net/url"
	"regexp"
	"strings"

	"tokwatt/collect/wire"
)

// server is one address, its base ending in /v1 or another version.
type server struct{ *wire.Server }

// newServer reads the options.
func newServer(o Options) (server, error) {
	s, err := wire.New(wire.Options{URL: o.URL, APIKeyEnv: o.APIKeyEnv, Headers: o.Headers})
	if err != nil {
		return server{}, err
	}
	s.Base.Path = versioned(s.Base.Path)
	return server{s}, nil
}

var version = regexp.MustCompile(`/v[0-9]+$`)

// versioned turns the path that users give into the one that paths are joined
// to: /v1 where no version ends it.
func versioned(p string) string {
	for _, tail := range []string{"/chat/completions", "/completions", "/models"} {
		p = strings.TrimSuffix(p, tail)
	}
	if !version.MatchString(p) {
		p += "/v1"
	}
	return p
}

// atRoot is the URL of a path beside the version: llama.cpp's /props and
// everybody's /health live there.
func (s server) atRoot(p string) *url.URL { return s.Beside(p) }
