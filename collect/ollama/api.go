package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"tokwatt/collect/wire"
)

// model is an entry of GET /api/tags or GET /api/ps.
type model struct {
	Name    string  `json:"name"`
	Model   string  `json:"model"` // newer servers have both
	Digest  string  `json:"digest"`
	Details details `json:"details"`
	Remote  string  `json:"remote_host"` // runs it, where the server only passes requests on
	// Only in /api/ps:
	Size          wire.Number `json:"size"`           // bytes, with its context
	SizeVRAM      wire.Number `json:"size_vram"`      // bytes of them on the GPU
	ContextLength wire.Number `json:"context_length"` // in force; newer servers
	ExpiresAt     string      `json:"expires_at"`     // RFC 3339
}

type details struct {
	Format            string `json:"format"`
	Family            string `json:"family"`
	ParameterSize     string `json:"parameter_size"`
	QuantizationLevel string `json:"quantization_level"`
}

func (m model) name() string { return cmp.Or(m.Name, m.Model) }

// listing is what a server said when asked for models.
type listing struct {
	models []model
	status int
	told   bool // it is a list of models, if an empty one
}

// tags asks for the models that the server has, the running ones or not.
func (s server) tags(ctx context.Context) (listing, error) { return s.list(ctx, "/api/tags") }

// running asks for the models that are in memory.
func (s server) running(ctx context.Context) (listing, error) { return s.list(ctx, "/api/ps") }

// list asks for models. Whatever comes back over HTTP means that the server is
// alive. A redirect moves the base, so that no timed request has to follow it,
// but only within the origin that the user named.
func (s server) list(ctx context.Context, path string) (listing, error) {
	r, err := s.Get(ctx, s.At(path))
	if err != nil {
		return listing{}, err
	}
	l := listing{status: r.Status}
	var body map[string]json.RawMessage
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &body) != nil {
		return l, nil
	}
	var models []json.RawMessage
	if raw, ok := body["models"]; ok {
		l.told = json.Unmarshal(raw, &models) == nil
	}
	for _, raw := range models {
		var m model
		_ = json.Unmarshal(raw, &m) // fields of odd types are not told
		if m.name() != "" {
			l.models = append(l.models, m)
		}
	}
	if p, ok := strings.CutSuffix(r.URL.Path, path); ok && wire.SameOrigin(r.URL, s.Base) {
		s.Base.Path = p
	}
	return l, nil
}

// names are those that the server lists.
func (l listing) names() []string {
	out := make([]string, len(l.models))
	for i, m := range l.models {
		out[i] = shown(m.name())
	}
	return out
}

// find returns the entry of the model that asked names, and of no other.
func (l listing) find(asked string) (model, bool) {
	for _, m := range l.models {
		if same(m.name(), asked) {
			return m, true
		}
	}
	return model{}, false
}

// version is the server's, empty where it does not tell.
func (s server) version(ctx context.Context) (string, error) {
	r, err := s.Get(ctx, s.At("/api/version"))
	if err != nil {
		return "", err
	}
	var body struct{ Version string }
	if r.Status == http.StatusOK {
		_ = json.Unmarshal(r.Body, &body) // another shape tells none
	}
	return s.Redact(wire.Clip(wire.OneLine(body.Version), wire.MaxReason)), nil
}

// shownModel is what is read of the answer to POST /api/show.
type shownModel struct {
	Details    details        `json:"details"`
	Parameters string         `json:"parameters"` // the model's own defaults of the sampling, a line each
	System     string         `json:"system"`     // stands where a request has none
	Info       map[string]any `json:"model_info"`
}

// show asks what the server knows of a model; it changes nothing.
func (s server) show(ctx context.Context, name string) (shownModel, error) {
	var m shownModel
	r, err := s.Do(ctx, http.MethodPost, s.At("/api/show"), map[string]string{"model": name})
	if err != nil || r.Status != http.StatusOK {
		return m, err
	}
	_ = json.Unmarshal(r.Body, &m) // fields of odd types are not told
	return m, nil
}

// contextLength is the longest context that the model was made for, nil where
// the server does not say.
func (m shownModel) contextLength() *int64 {
	arch, _ := m.Info["general.architecture"].(string)
	n, ok := m.Info[arch+".context_length"].(float64)
	if !ok || !(n >= 1 && n <= 1<<40) {
		return nil
	}
	tokens := int64(n)
	return &tokens
}
