package openai

import (
	"context"
	"net/http"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// Found is what answers at a URL, and what is known of such an engine. The
// pointers are nil where nothing is known without asking for tokens.
type Found struct {
	URL        string   // the base, without user and query
	Engine     string   // "openai" where the server does not tell
	Version    string   // empty where no GET tells it
	Models     []string // a path reduced to its base name
	Loaded     []string // those in memory; nil where the server does not tell
	Usage      *bool    // token counts in streams
	Cached     *bool    // cached tokens among them
	Timings    *bool    // durations or rates of its own
	EOSBan     *bool    // can be kept from ending before the wanted length
	EOSBy      string   // by which fields; a logit bias needs the model's end tokens
	EOSCounted *bool    // counts the end token as a generated one
	Cold       string   // how its prefix cache is kept out: a field, or "nonce"
	Seed       *bool    // two requests with one seed give equal texts
	Streams    *int64   // requests that it runs at once
	Err        error    // nothing answers, or it is no such server
}

// Find looks at all URLs at once, with GET requests only, and answers in
// under a second, in the order of the URLs. The options' own URL is not used.
func Find(ctx context.Context, o Options, urls ...string) []Found {
	return wire.FindAll(ctx, urls, func(ctx context.Context, url string) Found {
		o := o
		o.URL = url
		return look(ctx, o)
	})
}

func look(ctx context.Context, o Options) Found {
	srv, err := newServer(o)
	if err != nil {
		return Found{URL: o.URL, Err: err}
	}
	f, err := srv.learn(ctx)
	if err != nil {
		return Found{URL: srv.Endpoint(), Err: err}
	}
	d := f.recognise(ctx, f.list.models)
	version := f.version(ctx, d)
	d = d.weighed(version, "")
	out := Found{
		URL: srv.Endpoint(), Engine: d.engine, Version: version, Models: f.list.names(), Loaded: f.loaded(ctx, d),
		Usage: d.usage, Cached: d.cached, Timings: d.timings, EOSCounted: d.eos, Seed: d.seed,
		Cold: coldNonce, Streams: f.streams(ctx, d),
	}
	if d.engine == unknownEngine && len(f.list.models) == 0 {
		out.Err = errNotOne(out.URL)
		if s := f.list.status; s == http.StatusUnauthorized || s == http.StatusForbidden {
			out.Err = errNoKey(out.URL, s)
		}
		return out
	}
	out.EOSBan, out.EOSBy = d.keptOn()
	if can := d.abilities(d.wishes(wishes{fresh: true}, version)); can.ColdMethod != "" {
		out.Cold = can.ColdMethod
	}
	return out
}

// coldNonce is how requests are made cold where the server has no field for
// it: their prompts begin with words that no earlier one began with.
const coldNonce = "nonce"

// keptOn reports whether the engine can be kept from ending, and by what.
func (d dialect) keptOn() (*bool, string) {
	by := d.abilities(wishes{ban: d.ban}).EOSBan
	switch {
	case d.engine == unknownEngine:
		return nil, by
	case by == "":
		return &no, ""
	case !d.proven || d.unsure:
		return nil, by
	}
	return &yes, by
}

// Version is the version of a server that tells it in its answers only: it is
// asked for one token. Empty where GETs tell it, or nothing does.
func Version(ctx context.Context, o Options) string {
	srv, err := newServer(o)
	if err != nil {
		return ""
	}
	f, err := srv.learn(ctx)
	if err != nil {
		return ""
	}
	d := f.recognise(ctx, f.list.models)
	if !d.fingerprint {
		return ""
	}
	model := d.anonymous
	if model == "" && len(f.list.models) > 0 {
		model = f.list.models[0].ID
	}
	e := &engine{srv: srv, clock: collect.NewClock(), model: model, url: srv.At("/chat/completions"), dialect: d}
	got, err := e.ask(ctx, wishes{})
	if err != nil {
		return ""
	}
	return fingerprinted(srv.Redact(got.body))
}
