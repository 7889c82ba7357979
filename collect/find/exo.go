package find

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"tokwatt/collect/openai"
	"tokwatt/collect/wire"
)

// askTimeout bounds the look at one address; package openai and package ollama
// take as long.
const askTimeout = 800 * time.Millisecond

// cluster is what a node of exo tells.
type cluster struct {
	found  bool
	url    string
	models []string // whose files are on a node
	loaded []string // those that have an instance
}

// askExo takes for exo what tells the id of its node, a JSON string by itself,
// and puts exo's name into its list of models.
func askExo(ctx context.Context, o openai.Options) cluster {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	srv, err := wire.New(wire.Options{URL: o.URL, APIKeyEnv: o.APIKeyEnv, Headers: o.Headers})
	if err != nil {
		return cluster{}
	}
	srv.Base.Path = strings.TrimSuffix(srv.Base.Path, "/v1")
	var id string
	if !read(ctx, srv, "/node_id", "", &id) || id == "" {
		return cluster{}
	}
	type list struct {
		Data []struct {
			ID    string `json:"id"`
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	var all, here list
	if !read(ctx, srv, "/models", "", &all) || len(all.Data) == 0 || all.Data[0].Owner != engineExo {
		return cluster{}
	}
	c := cluster{found: true, url: srv.Endpoint(), models: []string{}, loaded: instances(ctx, srv)}
	if read(ctx, srv, "/models", "status=downloaded", &here) {
		for _, m := range here.Data {
			c.models = append(c.models, m.ID)
		}
	}
	return c
}

// instances are the models that have one; nil where exo does not tell.
func instances(ctx context.Context, srv *wire.Server) []string {
	var all map[string]map[string]struct {
		Assignments struct {
			Model string `json:"modelId"`
		} `json:"shardAssignments"`
	}
	if !read(ctx, srv, "/state/instances", "", &all) {
		return nil
	}
	out := []string{}
	for _, tagged := range all {
		for _, i := range tagged {
			out = append(out, i.Assignments.Model)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// read reads the answer to a GET; false where it is none of success, or of
// another shape.
func read(ctx context.Context, srv *wire.Server, path, query string, into any) bool {
	u := srv.At(path)
	if query != "" {
		u.RawQuery = query
	}
	r, err := srv.Get(ctx, u)
	return err == nil && r.Status == http.StatusOK && json.Unmarshal(r.Body, into) == nil
}

// as is the cluster by its native API: the bench endpoint keeps the model from
// ending and its prefix cache out. What else is known of exo stands in the
// table of dialects.
func (c cluster) as(plain openai.Found) openai.Found {
	return openai.Found{
		URL: c.url, Engine: engineExo, Models: c.models, Loaded: c.loaded,
		Usage: &yes, Cached: &yes, Timings: &yes, EOSBan: &yes, EOSBy: "bench endpoint", Cold: "use_prefix_cache=false",
		Streams: plain.Streams,
	}
}
