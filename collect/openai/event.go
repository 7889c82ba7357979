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
	Text         string  `json:"text"` // the older completions API
	FinishReason *string `json:"finish_reason"`
}

// said is what the model said in a chunk or a message. Servers name the
// reasoning differently, and some send it under two names at once.
type said struct {
	Content          string     `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent string     `json:"reasoning_content"`
	Reasoning        string     `json:"reasoning"`
	Thinking         string     `json:"thinking"`
	ToolCalls        []toolCall `json:"tool_calls"`
	FunctionCall     *function  `json:"function_call"`
}

type toolCall struct {
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (s *said) text() string {
	if s.Content == "" {
		return s.Refusal
	}
	return s.Content
}

func (s *said) reasoning() string {
	switch {
	case s.ReasoningContent != "":
		return s.ReasoningContent
	case s.Reasoning != "":
		return s.Reasoning
	}
	return s.Thinking
}

func (s *said) tool() string {
	if len(s.ToolCalls) == 0 && s.FunctionCall == nil {
		return ""
	}
	var b strings.Builder
	for _, t := range s.ToolCalls {
		b.WriteString(t.Function.Name)
		b.WriteString(t.Function.Arguments)
	}
	if f := s.FunctionCall; f != nil {
		b.WriteString(f.Name)
		b.WriteString(f.Arguments)
	}
	return b.String()
}

// parse reads data into c. A field of another type than usual is no reason to
// drop the event: encoding/json reads on behind it, and where the content is
// a list of parts, its texts are joined.
func (c *chunk) parse(data []byte) error {
	err := json.Unmarshal(data, c)
	var odd *json.UnmarshalTypeError
	if !errors.As(err, &odd) {
		return err
	}
	if data[0] != '{' {
		return err
	}
	var parts struct {
		Choices []struct {
			Delta, Message struct {
				Content json.RawMessage `json:"content"`
			}
		} `json:"choices"`
	}
	_ = json.Unmarshal(data, &parts) // well-formed, or the first try had said so
	for i, p := range parts.Choices {
		if i < len(c.Choices) {
			c.Choices[i].Delta.join(p.Delta.Content)
			c.Choices[i].Message.join(p.Message.Content)
		}
	}
	return nil
}

// join takes content that is a list of parts.
func (s *said) join(raw json.RawMessage) {
	if s == nil || len(raw) == 0 || raw[0] != '[' {
		return
	}
	var parts []struct {
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	_ = json.Unmarshal(raw, &parts) // what can't be read is no text
	for _, p := range parts {
		s.Content += p.Text
		if len(p.Thinking) > 0 {
			s.Thinking += thought(p.Thinking)
		}
	}
}

// thought is a thinking part: a text, or a list of texts.
func thought(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var many []struct{ Text string }
	_ = json.Unmarshal(raw, &many) // as above
	var b strings.Builder
	for _, m := range many {
		b.WriteString(m.Text)
	}
	return b.String()
}
