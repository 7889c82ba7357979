package openai

import (
	"context"
	"sync"
	"time"
)

// findTimeout bounds the look at one address: what runs on this host answers
// in milliseconds.
const findTimeout = 800 * time.Millisecond

// Found is what answers at a URL. The pointers are nil where nothing is known
// without asking for tokens.
type Found struct {
	URL     string // the base, without user and query
	Engine  string // "openai" where the server does not tell
	Version string
	Models  []string // a path reduced to its base name
	Usage   *bool    // token counts in streams
	Cached  *bool    // cached tokens among them
	Timings *bool    // durations of its own
	EOSBan  *bool    // takes a ban of the end token by logit bias
	Err     error    // nothing answers, or it is no such server
}

// Find looks at all URLs at once, with GET requests only, and answers in
// under a second, in the order of the URLs. The options' own URL is not used.
func Find(ctx context.Context, o Options, urls ...string) []Found {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	out := make([]Found, len(urls))
	var wg sync.WaitGroup
	for i, u := range urls {
		wg.Go(func() {
			o := o
			o.URL = u
			out[i] = look(ctx, o)
		})
	}
	wg.Wait()
	return out
}

func look(ctx context.Context, o Options) Found {
	f := Found{URL: o.URL}
	srv, err := newServer(o)
	if err != nil {
		f.Err = err
		return f
	}
	f.URL = srv.Endpoint()
	l, err := srv.list(ctx)
	if err != nil {
		f.Err = err
		return f
	}
	d := srv.recognise(ctx, l)
	f.URL, f.Engine, f.Models = srv.Endpoint(), d.engine, l.names()
	if d.engine == unknownEngine && len(l.models) == 0 {
		f.Err = errNotOne(f.URL)
		return f
	}
	if d.timings != nil && *d.timings {
		f.Version = srv.build(ctx)
	}
	f.Usage, f.Cached, f.Timings = d.usage, d.cached, d.timings
	if d.bias {
		f.EOSBan = &yes
	}
	return f
}
