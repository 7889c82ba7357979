package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"tokwatt/collect/wire"
)

// chunk is what we read of a data event, and of a whole answer: the one has
// deltas, the other a message.
type chunk struct {
	Model    string          `json:"model"`
	Choices  []choice        `json:"choices"`
	Usage    json.RawMessage `json:"usage"`
	Timings  json.RawMessage `json:"timings"`         // llama.cpp
	Progress json.RawMessage `json:"prompt_progress"` // llama.cpp, during prefill
	Stats    json.RawMessage `json:"stats"`           // LM Studio
	Metrics  json.RawMessage `json:"metrics"`         // Rapid-MLX
	// exo; null where it says null.
	Generation json.RawMessage `json:"generation_stats"`
	Power      json.RawMessage `json:"power_usage"`
	Error      json.RawMessage `json:"error"`
}

type choice struct {
	Index        int       `json:"index"`
	Delta        *said     `json:"delta"`
	Message      *said     `json:"message"`
	Text         wire.Text `json:"text"` // the older completions API
	FinishReason *string   `json:"finish_reason"`
	// Some servers have the usage here.
	Usage json.RawMessage `json:"usage"`
}

// said is what the model said in a chunk or a message. Servers name the
// reasoning differently, and some send it under two names at once.
type said struct {
	Content          wire.Text  `json:"content"`
	Refusal          wire.Text  `json:"refusal"`
	ReasoningContent wire.Text  `json:"reasoning_content"`
	Reasoning        wire.Text  `json:"reasoning"`
	Thinking         wire.Text  `json:"thinking"`
	ToolCalls        []toolCall `json:"tool_calls"`
	FunctionCall     *function  `json:"function_call"`
}

type toolCall struct {
	Function function `json:"function"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments wire.Text `json:"arguments"`
}

// text is the visible text; some servers send it as a list of parts.
func (s *said) text() string {
	seen, _ := parts(s.Content)
	return cmp.Or(s.Content.S, seen, s.Refusal.S)
}

func (s *said) reasoning() string {
	_, thought := parts(s.Content)
	return cmp.Or(s.ReasoningContent.S, s.Reasoning.S, s.Thinking.S, thought)
}

func (s *said) tool() string {
	if len(s.ToolCalls) == 0 && s.FunctionCall == nil {
		return ""
	}
	var b strings.Builder
	for _, t := range s.ToolCalls {
		b.WriteString(t.Function.Name)
		b.WriteString(t.Function.Arguments.S)
	}
	if f := s.FunctionCall; f != nil {
		b.WriteString(f.Name)
		b.WriteString(f.Arguments.S)
	}
	return b.String()
}

// parse reads data into c. A field of another type than usual is no reason to
// drop the event: encoding/json reads on behind it.
func (c *chunk) parse(data []byte) error {
	err := json.Unmarshal(data, c)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		if fixed := wire.Quoted(data); fixed != nil {
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
func parts(t wire.Text) (seen, thinking string) {
	if len(t.Odd) == 0 || t.Odd[0] != '[' {
		return "", ""
	}
	var parts []struct {
		Text     wire.Text `json:"text"`
		Thinking wire.Text `json:"thinking"`
	}
	_ = json.Unmarshal(t.Odd, &parts) // what can't be read is no text
	for _, p := range parts {
		seen += p.Text.S
		thinking += p.Thinking.S + texts(p.Thinking)
	}
	return seen, thinking
}

// texts reads a thinking part that is a list of texts.
func texts(t wire.Text) string {
	var parts []struct {
		Text wire.Text `json:"text"`
	}
	_ = json.Unmarshal(t.Odd, &parts) // as above
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text.S)
	}
	return b.String()
}
