package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Tokens is the plan of an ordinary answer of an OpenAI-compatible server: n
// tokens, the first after Prefill, then one every Step.
type Tokens struct {
	N       int
	Prefill time.Duration
	Step    time.Duration
	Model   string
	First   string // text of the first token; empty: "tok0 "
	Prompt  int    // prompt_tokens; 0: usage is left out
	Cached  *int   // cached_tokens of them
	Running bool   // usage in every chunk, with running totals
	NoEnd   bool   // no finish chunk, no usage, no end mark
}

// eventStream is the head of a stream.
var eventStream = []Header{{"Content-Type", "text/event-stream"}}

// Stream is the answer as an event stream. Finish, usage and end mark follow
// with the last token, in pieces of their own.
func (t Tokens) Stream() Answer {
	a := Answer{Headers: eventStream}
	at := t.Prefill
	for i := range t.N {
		at = t.Prefill + time.Duration(i)*t.Step
		usage := ""
		if t.Running {
			usage = `,"usage":` + t.usage(i+1)
		}
		text, _ := json.Marshal(t.text(i)) // a string always can
		a.Pieces = append(a.Pieces, t.event(at, fmt.Sprintf(`[{"index":0,"delta":{"content":%s},"finish_reason":null}]%s`, text, usage)))
	}
	if t.NoEnd {
		return a
	}
	a.Pieces = append(a.Pieces, t.event(at, `[{"index":0,"delta":{},"finish_reason":"length"}]`))
	if t.Prompt > 0 {
		a.Pieces = append(a.Pieces, t.event(at, `[],"usage":`+t.usage(t.N)))
	}
	a.Pieces = append(a.Pieces, Piece{at, []byte("data: [DONE]\n\n")})
	return a
}

// Body is the answer as one JSON body, when the last token is made.
func (t Tokens) Body() Answer {
	var text strings.Builder
	for i := range t.N {
		text.WriteString(t.text(i))
	}
	content, _ := json.Marshal(text.String()) // a string always can
	body := fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"length"}]`, t.Model, content)
	if t.Prompt > 0 {
		body += `,"usage":` + t.usage(t.N)
	}
	return Answer{Headers: []Header{{"Content-Type", "application/json"}}, Framing: FramingLength,
		Pieces: []Piece{{t.Prefill + time.Duration(max(0, t.N-1))*t.Step, []byte(body + "}")}}}
}

// text is that of the i-th token.
func (t Tokens) text(i int) string {
	if i == 0 && t.First != "" {
		return t.First
	}
	return fmt.Sprintf("tok%d ", i)
}

func (t Tokens) event(at time.Duration, choices string) Piece {
	return Piece{at, fmt.Appendf(nil, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":%s}\n\n", t.Model, choices)}
}

func (t Tokens) usage(n int) string {
	cached := ""
	if t.Cached != nil {
		cached = fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d}`, *t.Cached)
	}
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d%s}`, t.Prompt, n, t.Prompt+n, cached)
}
