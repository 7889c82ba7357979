package script

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"time"
)

// Script says what a server answers.
type Script struct {
	// Answers to POSTs on any path: the k-th gets the k-th, all further ones
	// the last.
	Answers []Answer
	// Answer makes the answer instead, from the request. May be nil.
	Answer func(Request) Answer
	// Model is the one that the model list names.
	Model string
	// Get are the answers to GETs, by the end of their path; others get a
	// plausible one.
	Get map[string]json.RawMessage
	// Heads are whole answers to GETs, by the end of their path, before Get.
	Heads map[string]Answer

	// Arrivals makes, of a connection, what its requests are read from, and a
	// function that says how long ago their newest bytes came in: for clients
	// whose errors are smaller than the time this server takes to wake up.
	// nil: they came in when they had been read.
	Arrivals func(net.Conn) (r io.Reader, age func() time.Duration)

	OnlyPath     string    // POSTs on other paths get 404
	RequireAuth  string    // what the header Authorization must say, on GETs too, else 401
	Redirect     *Redirect // of POSTs
	RejectFields []string  // POSTs whose body, or its options, has one of these are refused
	RejectStatus int       // with this status; 0: 400
	// PoliteProbes: POSTs that ask for one token get a well-formed answer of
	// their own, whose prompt_tokens are the words of the prompt + 9.
	PoliteProbes bool
}

// Redirect sends POSTs on path From to To.
type Redirect struct {
	From, To string
	Status   int // 0: 307
}

// Request is what a client sent.
type Request struct {
	N      int // number among the scripted POSTs, from 0
	Method string
	Path   string // without the query
	Header map[string]string
	Body   []byte

	fields map[string]json.RawMessage
}

// Field is the JSON of a top-level field of the body, or of its options; nil
// where there is none.
func (r Request) Field(name string) json.RawMessage {
	if v, ok := r.fields[name]; ok {
		return v
	}
	var options map[string]json.RawMessage
	_ = json.Unmarshal(r.fields["options"], &options) // no options, no field
	return options[name]
}

// MaxTokens is the number of tokens that the request asks for, 0 where it
// does not say.
func (r Request) MaxTokens() int {
	for _, name := range []string{"max_tokens", "max_completion_tokens", "num_predict"} {
		var n int
		if json.Unmarshal(r.Field(name), &n) == nil && n != 0 {
			return n
		}
	}
	return 0
}

// Stream reports whether a stream is asked for.
func (r Request) Stream() bool { return string(r.Field("stream")) == "true" }

// PromptTokens is the size that polite answers give a prompt: a token for each
// word of its messages and 9 for the template.
func (r Request) PromptTokens() int {
	var prompt string
	_ = json.Unmarshal(r.Field("prompt"), &prompt) // a chat has none
	n := len(strings.Fields(prompt))
	var messages []struct{ Content string }
	_ = json.Unmarshal(r.Field("messages"), &messages) // a completion has none
	for _, m := range messages {
		n += len(strings.Fields(m.Content))
	}
	return n + 9
}

// arrivals is Arrivals, or its default.
func (s *Script) arrivals(c net.Conn) (r io.Reader, age func() time.Duration) {
	if s.Arrivals != nil {
		return s.Arrivals(c)
	}
	return c, func() time.Duration { return 0 }
}

// rejected is the first refused field that a request has.
func (s *Script) rejected(r Request) string {
	for _, f := range s.RejectFields {
		if r.Field(f) != nil {
			return f
		}
	}
	return ""
}

// answer is the scripted answer to a request.
func (s *Script) answer(r Request) Answer {
	if s.Answer != nil {
		return s.Answer(r)
	}
	if len(s.Answers) == 0 {
		return small(404, []byte(`{"error":{"message":"nothing is scripted"}}`))
	}
	return s.Answers[min(r.N, len(s.Answers)-1)]
}
