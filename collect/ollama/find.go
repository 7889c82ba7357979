package ollama

import (
	"context"

	"tokwatt/collect/wire"
)

// Found is an Ollama that answers at a URL.
type Found struct {
	URL     string // the base, without user and query
	Version string
	Models  []string // that it has
	Loaded  []string // those of them that are in memory
	Err     error    // nothing answers, or it is no Ollama
}

// Find looks at all URLs at once, with GET requests only, and answers in under
// a second, in the order of the URLs. The options' own URL is not used.
func Find(ctx context.Context, o Options, urls ...string) []Found {
	return wire.FindAll(ctx, urls, func(ctx context.Context, url string) Found {
		o := o
		o.URL = url
		return look(ctx, o)
	})
}

// look takes for Ollama what tells a version and lists models, both in Ollama's
// way: many a server has one of the two.
func look(ctx context.Context, o Options) Found {
	f := Found{URL: o.URL}
	srv, err := newServer(o)
	if err != nil {
		f.Err = err
		return f
	}
	f.URL = srv.Endpoint()
	if f.Version, f.Err = srv.version(ctx); f.Err != nil {
		return f
	}
	l, err := srv.tags(ctx)
	if err != nil || f.Version == "" || !l.told {
		f.Version, f.Err = "", errNotOne(f.URL)
		return f
	}
	f.Models = l.names()
	if l, err = srv.running(ctx); err == nil {
		f.Loaded = l.names()
	}
	return f
}

// errNotOne is the error of an address where something else answers.
type errNotOne string

func (e errNotOne) Error() string {
	return string(e) + " answers, but not as Ollama: it tells no version and models in its way"
}
