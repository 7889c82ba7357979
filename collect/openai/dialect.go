package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// dialect is what is known of an engine beyond the common API. The zero value
// is a server that nobody knows: what it takes is found by probing, and what
// it reports by looking.
type dialect struct {
	engine string
	// bias: a logit bias of -100 really bans a token.
	bias bool
	// What an answer tells; nil where it is not known.
	usage   *bool // token counts in a stream, when asked for
	cached  *bool // cached_tokens in them
	timings *bool // llama.cpp's own durations

	// How it is recognised: all that are set must fit.
	server  string // prefix of the Server header
	owner   string // owned_by in the model list
	noOwner bool   // entries of the model list have no owned_by
	health  string // status in GET /health beside the API
}

var yes, no = true, false

// dialects in the order in which they are tried. Facts: recorded answers of
// llama-server, llama_cpp.server 0.3.36 and mlx_lm.server 0.32.2 in
// testdata/transcripts.
var dialects = []dialect{
	{engine: "llama.cpp", bias: true, usage: &yes, cached: &yes, timings: &yes, server: "llama.cpp"},
	{engine: "llama.cpp", bias: true, usage: &yes, cached: &yes, timings: &yes, owner: "llamacpp"},
	{engine: "llama_cpp.server", bias: true, usage: &no, cached: &no, timings: &no, server: "uvicorn", owner: "me"},
	{engine: "mlx_lm", bias: true, usage: &yes, cached: &yes, timings: &no, server: "BaseHTTP/", noOwner: true, health: "ok"},
}

// unknownEngine is stored where the wire does not tell.
const unknownEngine = "openai"

// recognise finds the dialect of a server from its model list and, where one
// asks for it, its health. The common wrong guess is to take anything with a
// model list for one engine; a server that fits no row stays unknown.
func (s server) recognise(ctx context.Context, l listing) dialect {
	for _, d := range dialects {
		if !strings.HasPrefix(l.header.Get("Server"), d.server) || !d.fits(l.models) {
			continue
		}
		if d.health == "" || s.health(ctx) == d.health {
			return d
		}
	}
	return dialect{engine: unknownEngine}
}

func (d dialect) fits(models []model) bool {
	for _, m := range models {
		if d.owner != "" && m.OwnedBy != d.owner || d.noOwner && m.OwnedBy != "" {
			return false
		}
	}
	return d.owner == "" || len(models) > 0
}

// health is the status that GET /health tells, empty where it tells none.
func (s server) health(ctx context.Context) string {
	var body struct{ Status string }
	if r, err := s.Get(ctx, s.atRoot("/health")); err == nil && r.Status == http.StatusOK {
		_ = json.Unmarshal(r.Body, &body) // another shape tells no status
	}
	return body.Status
}

// build is the version that llama.cpp tells in GET /props.
func (s server) build(ctx context.Context) string {
	var body struct {
		BuildInfo string `json:"build_info"`
	}
	if r, err := s.Get(ctx, s.atRoot("/props")); err == nil && r.Status == http.StatusOK {
		_ = json.Unmarshal(r.Body, &body) // older servers tell none
	}
	return body.BuildInfo
}
