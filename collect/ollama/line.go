package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"tokwatt/collect/wire"
)

// object is what we read of a line: /api/generate has its text at the top,
// /api/chat, which gateways may answer with, in a message.
type object struct {
	Model      string          `json:"model"`
	Response   wire.Text       `json:"response"`
	Thinking   wire.Text       `json:"thinking"`
	ToolCalls  json.RawMessage `json:"tool_calls"`
	Message    *message        `json:"message"`
	Done       *bool           `json:"done"`
	DoneReason wire.Text       `json:"done_reason"`
	Error      json.RawMessage `json:"error"`
	counts
}

type message struct {
	Content   wire.Text       `json:"content"`
	Thinking  wire.Text       `json:"thinking"`
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// counts are the figures of the last line. Durations are in ns.
type counts struct {
	TotalDuration      wire.Number `json:"total_duration"`
	LoadDuration       wire.Number `json:"load_duration"`
	PromptEvalCount    wire.Number `json:"prompt_eval_count"`        // cached ones among them
	PromptCachedCount  wire.Number `json:"prompt_eval_cached_count"` // newer servers
	PromptEvalDuration wire.Number `json:"prompt_eval_duration"`
	EvalCount          wire.Number `json:"eval_count"`
	EvalDuration       wire.Number `json:"eval_duration"`
}

func (c *counts) fields() []*wire.Number {
	return []*wire.Number{&c.TotalDuration, &c.LoadDuration, &c.PromptEvalCount, &c.PromptCachedCount, &c.PromptEvalDuration, &c.EvalCount, &c.EvalDuration}
}

// errNotObject is the error of a line that is JSON and no object.
var errNotObject = errors.New("no JSON object")

// parse reads a line into o. A field of another type than usual is no reason to
// drop the line: encoding/json reads on behind it.
func (o *object) parse(data []byte) error {
	if data[0] != '{' {
		return errNotObject
	}
	err := json.Unmarshal(data, o)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		if fixed := wire.Quoted(data); fixed != nil {
			err = json.Unmarshal(fixed, o)
		}
	}
	if odd := (*json.UnmarshalTypeError)(nil); errors.As(err, &odd) {
		return nil
	}
	return err
}

// longLine is from which length on a line is looked through for its context.
const longLine = 4 << 10

// withoutContext is a line without the numbers of its context, one for each
// token of the prompt: JSON's own way past a hundred thousand of them takes 20
// ms of a running batch. It looks for the bytes of the key, which no JSON string
// can hold.
func withoutContext(line []byte) []byte {
	key := []byte(`"context":[`)
	if len(line) < longLine {
		return line
	}
	i := bytes.Index(line, key)
	if i < 1 || line[i-1] != ',' && line[i-1] != '{' {
		return line
	}
	from := i + len(key)
	n := bytes.IndexByte(line[from:], ']')
	if n < 0 || bytes.ContainsAny(line[from:from+n], `"{[`) {
		return line
	}
	return append(append(make([]byte, 0, len(line)-n), line[:from]...), line[from+n:]...)
}

// objects splits a line that holds several objects, as some proxies join them;
// nil where it holds anything else.
func objects(line []byte) [][]byte {
	var out [][]byte
	for d := json.NewDecoder(bytes.NewReader(line)); ; {
		var one json.RawMessage
		switch err := d.Decode(&one); {
		case err == io.EOF:
			return out
		case err != nil || one[0] != '{':
			return nil
		}
		out = append(out, one)
	}
}

// breaksOff tells JSON that breaks off from JSON that is wrong.
func breaksOff(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
}

// known reports whether the line has anything of Ollama's.
func (o *object) known() bool {
	return o.Done != nil || o.Message != nil || o.Response.S != "" || o.Thinking.S != "" || o.EvalCount.V != nil
}

// ended reports whether the line calls itself the last one.
func (o *object) ended() bool { return o.Done != nil && *o.Done }

func (o *object) text() string {
	if o.Message != nil && o.Response.S == "" {
		return o.Message.Content.S
	}
	return o.Response.S
}

func (o *object) reasoning() string {
	if o.Message != nil && o.Thinking.S == "" {
		return o.Message.Thinking.S
	}
	return o.Thinking.S
}

// tool is what a line brings of tool calls: names and arguments.
func (o *object) tool() string {
	raw := o.ToolCalls
	if o.Message != nil && raw == nil {
		raw = o.Message.ToolCalls
	}
	if len(raw) == 0 || raw[0] != '[' {
		return ""
	}
	var calls []struct {
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	_ = json.Unmarshal(raw, &calls) // calls of odd types are not told
	var b strings.Builder
	for _, c := range calls {
		b.WriteString(c.Function.Name)
		b.Write(c.Function.Arguments)
	}
	return b.String()
}

// fault reports whether the line is an error message.
func (o *object) fault() bool {
	switch string(o.Error) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}
