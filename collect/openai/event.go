package openai

import (
	"encoding/json"
	"errors"
	"strings"
)

// chunk is what we read of a data event, and of a whole answer: the one has
// deltas, the other a message.
type chunk struct {
	Model    string          `json:"model"`
	Choices  []choice        `json:"choices"`
	Usage    json.RawMessage `json:"usage"`
	Timings  json.RawMessage `json:"timings"`         // llama.cpp
	Progress json.RawMessage `json:"prompt_progress"` // llama.cpp, during prefill
	Error    json.RawMessage `json:"error"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        *said   `json:"delta"`
	Message      *said   `json:"message"`
	Text         text    `json:"text"` // the older completions API
	FinishReason *string `json:"finish_reason"`
	// Some servers have the usage here.
	Usage json.RawMessage `json:"usage"`
}

// said is what the model said in a chunk or a message. Servers name the
// reasoning differently, and some send it under two names at once.
type said struct {
	Content          text       `json:"content"`
	Refusal          text       `json:"refusal"`
	ReasoningContent text       `json:"reasoning_content"`
	Reasoning        text       `json:"reasoning"`
	Thinking         text       `json:"thinking"`
	ToolCalls        []toolCall `json:"tool_calls"`
	FunctionCall     *function  `json:"function_call"`
}

type toolCall struct {
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments text   `json:"arguments"`
}

// text is the visible text; some servers send it as a list of parts.
func (s *said) text() string {
	seen, _ := s.Content.parts()
	return first(s.Content.s, seen, s.Refusal.s)
}

func (s *said) reasoning() string {
	_, thought := s.Content.parts()
	return first(s.ReasoningContent.s, s.Reasoning.s, s.Thinking.s, thought)
}

func (s *said) tool() string {
	if len(s.ToolCalls) == 0 && s.FunctionCall == nil {
		return ""
	}
	var b strings.Builder
	for _, t := range s.ToolCalls {
		b.WriteString(t.Function.Name)
		b.WriteString(t.Function.Arguments.s)
	}
	if f := s.FunctionCall; f != nil {
		b.WriteString(f.Name)
		b.WriteString(f.Arguments.s)
	}
	return b.String()
}

// parse reads data into c. A field of another type than usual is no reason to
// drop the event: encoding/json reads on behind it.
func (c *chunk) parse(data []byte) error {
	err := json.Unmarshal(data, c)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		if fixed := quoted(data); fixed != nil {
			err = json.Unmarshal(fixed, c)
		}
	}
	var odd *json.UnmarshalTypeError
	if errors.As(err, &odd) && data[0] == '{' {
		return nil
	}
	return err
}

// parts reads content that is a list of parts: the texts of those that are
// shown, and of those that are not.
func (t *text) parts() (seen, thinking string) {
	if len(t.odd) == 0 || t.odd[0] != '[' {
		return "", ""
	}
	var parts []struct {
		Text     text `json:"text"`
		Thinking text `json:"thinking"`
	}
	_ = json.Unmarshal(t.odd, &parts) // what can't be read is no text
	for _, p := range parts {
		seen += p.Text.s
		thinking += p.Thinking.s + p.Thinking.texts()
	}
	return seen, thinking
}

// texts reads a thinking part that is a list of texts.
func (t *text) texts() string {
	var parts []struct {
		Text text `json:"text"`
	}
	_ = json.Unmarshal(t.odd, &parts) // as above
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text.s)
	}
	return b.String()
}
