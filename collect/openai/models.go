package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"

	"tokwatt/collect/wire"
)

// model is an entry of GET /models.
type model struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases"`
	OwnedBy string   `json:"owned_by"`
	// llama_cpp.server: an empty list.
	Permissions json.RawMessage `json:"permissions"`
	Meta        struct {
		FileType string `json:"ftype"` // llama.cpp: the quantization
	} `json:"meta"`
	// llama.cpp that serves several models: an object with a value.
	Status json.RawMessage `json:"status"`
	// LM Studio; exo has the second.
	Compatibility string `json:"compatibility_type"` // "gguf", "mlx"
	Quantization  string `json:"quantization"`
	State         string `json:"state"` // "loaded", "not-loaded"
}

// state is "loaded" or another word where the server says it of a model.
func (m model) state() string {
	var status struct{ Value string }
	_ = json.Unmarshal(m.Status, &status) // another shape tells nothing
	return cmp.Or(m.State, status.Value)
}

// listing is what a server said to GET /models.
type listing struct {
	models []model
	header http.Header
	status int
}

// list asks for the models. Whatever comes back over HTTP means that the
// server is alive: not every server has the path, and mlx_lm.server answers
// with an empty body where it has no hub cache. A redirect moves the base, so
// that no timed request has to follow it, but only within the origin that the
// user named.
func (s server) list(ctx context.Context) (listing, error) {
	r, err := s.Get(ctx, s.At("/models"))
	if err != nil {
		return listing{}, err
	}
	l := listing{header: r.Header, status: r.Status}
	if r.Status != http.StatusOK {
		return l, nil
	}
	l.models = parseModels(r.Body)
	if p, ok := strings.CutSuffix(r.URL.Path, "/models"); ok && len(l.models) > 0 && wire.SameOrigin(r.URL, s.Base) {
		s.Base.Path = p
	}
	return l, nil
}

// parseModels reads a model list; what is none has no models.
func parseModels(raw []byte) []model {
	var body struct {
		Data []json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(raw, &body) // as above
	var out []model
	for _, raw := range body.Data {
		var m model
		_ = json.Unmarshal(raw, &m) // fields of odd types are not told
		if m.ID != "" {
			out = append(out, m)
		}
	}
	return out
}

// names are the ids as they may be shown.
func (l listing) names() []string {
	out := make([]string, len(l.models))
	for i, m := range l.models {
		out[i] = shown(m.ID)
	}
	return out
}

// find returns the entry that asked names: by id, by alias, or by the base
// name under which a path is shown. No other likeness counts:
// "llama3.2:1b" is not "llama3.2:3b".
func find(models []model, asked string) (model, bool) {
	for _, m := range models {
		if m.ID == asked {
			return m, true
		}
	}
	for _, m := range models {
		for _, a := range m.Aliases {
			if a == asked {
				return m, true
			}
		}
		if isPath(m.ID) && shown(m.ID) == asked {
			return m, true
		}
	}
	return model{}, false
}

// shown is a model id without the folders of the server's machine, and without
// what can't be shown.
func shown(id string) string {
	if id = wire.OneLine(id); !isPath(id) {
		return id
	}
	return path.Base(strings.ReplaceAll(strings.TrimRight(id, `/\`), `\`, "/"))
}

// isPath tells a path from a hub id such as org/name.
func isPath(id string) bool {
	if len(id) > 2 && id[1] == ':' && (id[2] == '\\' || id[2] == '/') {
		return true
	}
	return strings.HasPrefix(id, "/") || strings.HasPrefix(id, "~") || strings.HasPrefix(id, ".") ||
		strings.Contains(id, "/") && strings.HasSuffix(id, ".gguf")
}

// errNotOne is the error of an address where something answers that lists no
// models and is known by no other sign.
type errNotOne string

func (e errNotOne) Error() string {
	return string(e) + " answers, but not as an OpenAI-compatible server: it lists no models"
}
