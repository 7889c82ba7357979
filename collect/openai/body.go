package openai

import (
	"encoding/json"
	"strconv"

	"tokwatt/collect"
)

// wishes are the optional fields of a request. A field that the server
// refuses is taken out after the probe.
type wishes struct {
	temperature *float64
	seed        *int64
	stream      bool
	noUsage     bool    // stream_options is refused
	ban         []int64 // end tokens for a logit bias; empty: no ban
}

// sampling is what is sent of the sampling settings, as JSON values.
func (w wishes) sampling() map[string]any {
	out := map[string]any{}
	if w.temperature != nil {
		out["temperature"] = *w.temperature
	}
	if w.seed != nil {
		out["seed"] = *w.seed
	}
	return out
}

// without returns the wishes less one field; false where it is not among them.
func (w wishes) without(field string) (wishes, bool) {
	had := false
	switch field {
	case "temperature":
		had, w.temperature = w.temperature != nil, nil
	case "seed":
		had, w.seed = w.seed != nil, nil
	case "logit_bias":
		had, w.ban = len(w.ban) > 0, nil
	case "stream_options":
		had, w.noUsage = w.stream && !w.noUsage, true
	}
	return w, had
}

// optional are the fields that without knows, the likeliest to be refused
// first.
var optional = [...]string{"logit_bias", "seed", "stream_options", "temperature"}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatRequest struct {
	Model         string         `json:"model"`
	Messages      []message      `json:"messages"`
	MaxTokens     int64          `json:"max_tokens"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	Seed          *int64         `json:"seed,omitempty"`
	LogitBias     map[string]int `json:"logit_bias,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// encode makes the body of a call, with those of the wishes that it shares.
func (w wishes) encode(model string, c collect.Call) ([]byte, error) {
	r := chatRequest{Model: model, MaxTokens: c.MaxTokens, Stream: c.Stream}
	if c.Prompt.System != "" {
		r.Messages = append(r.Messages, message{"system", c.Prompt.System})
	}
	r.Messages = append(r.Messages, message{"user", c.Prompt.User})
	if w.temperature != nil {
		r.Temperature = c.Temperature
	}
	if w.seed != nil {
		r.Seed = c.Seed
	}
	if c.Stream && !w.noUsage {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if c.BanEOS && len(w.ban) > 0 {
		r.LogitBias = make(map[string]int, len(w.ban))
		for _, id := range w.ban {
			r.LogitBias[strconv.FormatInt(id, 10)] = -100
		}
	}
	return json.Marshal(r)
}
