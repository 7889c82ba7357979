package serve

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// fields reads the fields of a body; the first that can't be read is the
// fault.
type fields struct{ fault *fault }

// absent reports whether a field is missing or null, which is the same to exo.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// one reports whether a value is one of some, white space aside.
func one(values []string, raw json.RawMessage) bool {
	var b bytes.Buffer
	return json.Compact(&b, raw) == nil && slices.Contains(values, b.String())
}

func (p *fields) wrong(kind, msg string, input json.RawMessage, loc ...any) {
	if p.fault == nil {
		p.fault = unreadable(kind, msg, input, loc...)
	}
}

func (p *fields) text(name string, raw json.RawMessage) (s string) {
	switch {
	case len(raw) == 0:
		p.wrong("missing", "Field required", nil, name)
	case raw[0] != '"' || json.Unmarshal(raw, &s) != nil:
		p.wrong("string_type", "Input should be a valid string", raw, name)
	}
	return s
}

func (p *fields) yes(name string, raw json.RawMessage) (b bool) {
	if !absent(raw) && json.Unmarshal(raw, &b) != nil {
		p.wrong("bool_type", "Input should be a valid boolean", raw, name)
	}
	return b
}

func (p *fields) number(name string, raw json.RawMessage) *int64 {
	if absent(raw) {
		return nil
	}
	var n int64
	if json.Unmarshal(raw, &n) != nil {
		p.wrong("int_type", "Input should be a valid integer", raw, name)
	}
	return &n
}

// roles are those that a message may have.
var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

func (p *fields) messages(raw json.RawMessage) []Message {
	if len(raw) == 0 {
		p.wrong("missing", "Field required", nil, "messages")
		return nil
	}
	var all []struct {
		Role    json.RawMessage `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &all) != nil || all == nil {
		p.wrong("list_type", "Input should be a valid list", raw, "messages")
		return nil
	}
	var out []Message
	for i, m := range all {
		var role string
		if json.Unmarshal(m.Role, &role) != nil || !slices.Contains(roles, role) {
			p.wrong("literal_error", "Input should be 'system', 'developer', 'user', 'assistant', 'tool' or 'function'", m.Role, "messages", i, "role")
		}
		out = append(out, Message{Role: role, Text: p.content(m.Content, i)})
	}
	return out
}

// content is the text of a message, which may come in parts.
func (p *fields) content(raw json.RawMessage, i int) string {
	var s string
	if absent(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		p.wrong("string_type", "Input should be a valid string", raw, "messages", i, "content")
		return ""
	}
	var b strings.Builder
	for j, part := range parts {
		if part.Type != "text" {
			p.wrong("literal_error", "Input should be 'text': this engine takes nothing else", nil, "messages", i, "content", j, "type")
		}
		b.WriteString(part.Text)
	}
	return b.String()
}
