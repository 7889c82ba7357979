package openai

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"

	"tokwatt/collect"
)

// wishes are the optional fields of a request. A field that the server
// refuses is taken out after the probe.
type wishes struct {
	temperature *float64
	seed        *int64
	stream      bool
	noUsage     bool // stream_options is refused

	keepOn bool    // the model may not end before max_tokens
	ends   []int64 // its end tokens; empty: not known
	fresh  bool    // nothing may be reused from earlier requests
	reuse  bool    // what can be reused of earlier requests shall be
	// The fields for these two that the server has.
	ban  []field
	cold field
	warm field
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
func (w wishes) without(f field) (wishes, bool) {
	had := false
	switch f {
	case temperature:
		had, w.temperature = w.temperature != nil, nil
	case seedField:
		had, w.seed = w.seed != nil, nil
	case streamOptions:
		had, w.noUsage = w.stream && !w.noUsage, true
	case cachePrompt, cacheSalt:
		if w.cold == f {
			had, w.cold = true, ""
		}
		if w.warm == f {
			had, w.warm = true, ""
		}
	default:
		had = slices.Contains(w.ban, f)
		w.ban = slices.DeleteFunc(slices.Clone(w.ban), func(g field) bool { return g == f })
	}
	return w, had
}

// optional are the fields that without knows, the likeliest to be refused
// first.
var optional = [...]field{logitBias, ignoreEOS, minTokens, cachePrompt, cacheSalt, seedField, streamOptions, temperature}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatRequest struct {
	Model         string         `json:"model"`
	Messages      []message      `json:"messages"`
	MaxTokens     int64          `json:"max_tokens"`
	Stream        bool           `json:"stream"`
	StreamOptions *includeUsage  `json:"stream_options,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	Seed          *int64         `json:"seed,omitempty"`
	IgnoreEOS     bool           `json:"ignore_eos,omitempty"`
	MinTokens     int64          `json:"min_tokens,omitempty"`
	LogitBias     map[string]int `json:"logit_bias,omitempty"`
	CachePrompt   *bool          `json:"cache_prompt,omitempty"`
	CacheSalt     string         `json:"cache_salt,omitempty"`
}

type includeUsage struct {
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
		r.StreamOptions = &includeUsage{IncludeUsage: true}
	}
	if c.BanEOS {
		w.keepGoing(&r)
	}
	switch {
	case c.Cold:
		w.chill(&r)
	case w.warm == cachePrompt:
		r.CachePrompt = &yes
	}
	return json.Marshal(r)
}

// keepGoing asks the server not to let the model end.
func (w wishes) keepGoing(r *chatRequest) {
	for _, f := range w.ban {
		switch f {
		case ignoreEOS:
			r.IgnoreEOS = true
		case minTokens:
			r.MinTokens = r.MaxTokens
		case logitBias:
			r.LogitBias = make(map[string]int, len(w.ends))
			for _, id := range w.ends {
				r.LogitBias[strconv.FormatInt(id, 10)] = -100
			}
		}
	}
}

// chill asks the server to reuse nothing. A salt does so by being new.
func (w wishes) chill(r *chatRequest) {
	switch w.cold {
	case cachePrompt:
		r.CachePrompt = &no
	case cacheSalt:
		r.CacheSalt = rand.Text()
	}
}
