package serve

import (
	"encoding/json"
	"errors"
	"net/http"
)

// request is a chat that a client asks for, as far as there is an answer.
type request struct {
	model     string
	prompt    prompt
	maxTokens int
	stream    bool
	banEOS    bool
	warm      bool // use_prefix_cache, as it was sent
	bench     bool // of the bench endpoint
}

// wire is a body; fields that are not named here are ignored, as exo does.
type wire struct {
	Model      json.RawMessage `json:"model"`
	Messages   json.RawMessage `json:"messages"`
	MaxTokens  json.RawMessage `json:"max_tokens"`
	MaxNew     json.RawMessage `json:"max_completion_tokens"`
	Stream     json.RawMessage `json:"stream"`
	IgnoreEOS  json.RawMessage `json:"ignore_eos"`
	Warm       json.RawMessage `json:"use_prefix_cache"`
	Cache      json.RawMessage `json:"cache_prompt"` // llama.cpp's name for it
	Choices    json.RawMessage `json:"n"`
	Stop       json.RawMessage `json:"stop"`
	Logprobs   json.RawMessage `json:"logprobs"`
	Penalty    json.RawMessage `json:"repetition_penalty"`
	Presence   json.RawMessage `json:"presence_penalty"`
	Frequency  json.RawMessage `json:"frequency_penalty"`
	LogitBias  json.RawMessage `json:"logit_bias"`
	Structured json.RawMessage `json:"response_format"`
	Tools      json.RawMessage `json:"tools"`
	Functions  json.RawMessage `json:"functions"`
	Top        json.RawMessage `json:"top_logprobs"`
}

// parse reads a body for a model that takes so many tokens, whose prompts encode
// makes. The error is a *fault.
func parse(body []byte, bench bool, context int, encode Encode) (request, error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return request{}, badJSON(body, err)
	}
	p := &fields{}
	r := request{bench: bench, banEOS: bench, model: p.text("model", w.Model)}
	r.stream = p.yes("stream", w.Stream)
	r.warm = p.yes("use_prefix_cache", w.Warm) || p.yes("cache_prompt", w.Cache)
	if p.yes("ignore_eos", w.IgnoreEOS) {
		r.banEOS = true
	}
	limit, name := w.MaxTokens, "max_tokens"
	if absent(limit) && !absent(w.MaxNew) {
		limit, name = w.MaxNew, "max_completion_tokens"
	}
	tokens := p.number(name, limit)
	messages := p.messages(w.Messages)
	if p.fault != nil {
		return r, p.fault
	}
	if f := w.unmet(); f != nil {
		return r, f
	}
	var err error
	if r.prompt, err = render(messages, encode); err != nil {
		return r, faultf(http.StatusBadRequest, "%v", err)
	}
	r.maxTokens, err = length(tokens, bench, context, r.prompt.tokens)
	return r, err
}

// badJSON is the fault of a body that is no JSON object.
func badJSON(body []byte, err error) *fault {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return unreadable("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", body)
	}
	at := int64(len(body))
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	f := unreadable("json_invalid", "JSON decode error", json.RawMessage("{}"), at)
	f.message = "the body is no JSON: " + err.Error()
	f.details[0].Ctx = map[string]any{"error": err.Error()}
	return f
}

// unmet names what a body asks for and this engine can't do. What only
// chooses among tokens, such as the temperature, is not among it: the
// likeliest token is a choice, too.
func (w *wire) unmet() *fault {
	for _, c := range []struct {
		raw       json.RawMessage
		harmless  []string
		otherwise string
	}{
		{w.Choices, []string{"1"}, "n: there is one answer to a request: leave it out, or send 1"},
		{w.Stop, []string{`""`, "[]"}, "stop: this engine ends at no text of its own: leave it out"},
		{w.Logprobs, []string{"false", "0"}, "logprobs: this engine tells none: leave it out, or send false"},
		{w.Penalty, []string{"1", "1.0"}, "repetition_penalty: this engine has none: leave it out"},
		{w.Presence, []string{"0", "0.0"}, "presence_penalty: this engine has none: leave it out"},
		{w.Frequency, []string{"0", "0.0"}, "frequency_penalty: this engine has none: leave it out"},
		{w.LogitBias, []string{"{}"}, "logit_bias: this engine has none: leave it out; ignore_eos keeps the model from ending"},
		{w.Tools, []string{"[]"}, "tools: this engine calls none: leave them out"},
		{w.Functions, []string{"[]"}, "functions: this engine calls none: leave them out"},
		{w.Top, []string{"0"}, "top_logprobs: this engine tells none: leave it out"},
		{w.Structured, []string{`{"type":"text"}`}, "response_format: this engine can't keep to one: leave it out"},
	} {
		if !absent(c.raw) && !one(c.harmless, c.raw) {
			return faultf(http.StatusBadRequest, "%s", c.otherwise)
		}
	}
	return nil
}

// length is how many tokens are generated: what was asked for, within what the
// model takes.
func length(asked *int64, bench bool, context, prompt int) (int, error) {
	room := context - prompt
	switch {
	case asked == nil && bench:
		return 0, faultf(http.StatusBadRequest, "max_tokens is missing: the bench endpoint generates so many tokens whatever the model says, so name how many")
	case room < 1:
		return 0, faultf(http.StatusBadRequest, "the prompt has %d tokens, and with its answer the model takes at most %d", prompt, context)
	case asked == nil:
		return min(defaultTokens, room), nil
	case *asked < 1:
		return 0, faultf(http.StatusBadRequest, "max_tokens is %d: it must be at least 1", *asked)
	case *asked > int64(room):
		return 0, faultf(http.StatusBadRequest, "prompt and max_tokens make %d tokens, and the model takes at most %d", int64(prompt)+*asked, context)
	}
	return int(*asked), nil
}
