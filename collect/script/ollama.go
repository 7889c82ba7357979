package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// OllamaTokens is the plan of an ordinary answer of Ollama's own API: n tokens,
// a line each, the first after Prefill, then one every Step.
type OllamaTokens struct {
	N       int
	Prefill time.Duration
	Step    time.Duration
	Model   string
	Prompt  int  // prompt_eval_count; 0: it is left out
	Cached  *int // prompt_eval_cached_count of them
	NoEnd   bool // no last line
}

// Stream is the answer as lines. The last one follows with the last token, in a
// piece of its own.
func (t OllamaTokens) Stream() Answer {
	a := Answer{Headers: []Header{{"Content-Type", "application/x-ndjson"}}}
	at := t.Prefill
	for i := range t.N {
		at = t.Prefill + time.Duration(i)*t.Step
		a.Pieces = append(a.Pieces, Piece{at, t.line(fmt.Sprintf("tok%d ", i), `"done":false`)})
	}
	if !t.NoEnd {
		a.Pieces = append(a.Pieces, Piece{at, t.line("", t.end())})
	}
	return a
}

// Body is the answer as one JSON body, when the last token is made.
func (t OllamaTokens) Body() Answer {
	var text strings.Builder
	for i := range t.N {
		fmt.Fprintf(&text, "tok%d ", i)
	}
	return Answer{Headers: []Header{{"Content-Type", "application/json; charset=utf-8"}}, Framing: FramingLength,
		Pieces: []Piece{{t.Prefill + time.Duration(max(0, t.N-1))*t.Step, t.line(text.String(), t.end())}}}
}

func (t OllamaTokens) line(text, rest string) []byte {
	response, _ := json.Marshal(text) // a string always can
	return fmt.Appendf(nil, "{\"model\":%q,\"created_at\":\"2026-01-01T00:00:00Z\",\"response\":%s,%s}\n", t.Model, response, rest)
}

// end is what the last line says: of the prompt's and the answer's time just
// what the plan is.
func (t OllamaTokens) end() string {
	eval := time.Duration(max(0, t.N-1)) * t.Step
	s := fmt.Sprintf(`"done":true,"done_reason":"length","context":[1,2,3],"total_duration":%d,"load_duration":1000000`, t.Prefill+eval+time.Millisecond)
	if t.Prompt > 0 {
		s += fmt.Sprintf(`,"prompt_eval_count":%d`, t.Prompt)
	}
	if t.Cached != nil {
		s += fmt.Sprintf(`,"prompt_eval_cached_count":%d`, *t.Cached)
	}
	return s + fmt.Sprintf(`,"prompt_eval_duration":%d,"eval_count":%d,"eval_duration":%d`, t.Prefill, t.N, eval)
}
