// Package kinds has the prompt kinds: texts of our own for the five kinds of
// work that the asiai specification measures, and how many tokens an answer to
// each may have. The limits are limits, not wanted lengths.
package kinds

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"tokwatt/collect"
)

// Names are the kinds, in the order in which they are measured.
func Names() []string {
	out := make([]string, len(all))
	for i, k := range all {
		out[i] = k.name
	}
	return out
}

// The size of a context_fill prompt in tokens.
const (
	DefaultContext = 4096
	MaxContext     = 128 << 10
)

// charsPerToken is what English prose has in common vocabularies. It only
// decides how much text is sent: the length that counts is the server's count.
const charsPerToken = 5.3

var all = []struct {
	name  string
	limit int64
	text  string
}{
	{"code", 512, code},
	{"tool_call", 256, toolCall},
	{"reasoning", 384, reasoning},
	{"long_gen", 1024, longGen},
	{"context_fill", 256, contextFill},
}

var (
	//go:embed texts/code.txt
	code string
	//go:embed texts/tool_call.txt
	toolCall string
	//go:embed texts/reasoning.txt
	reasoning string
	//go:embed texts/long_gen.txt
	longGen string
	//go:embed texts/context_fill.txt
	contextFill string
)

// Texts are the prompts of the named kinds. A context_fill prompt is of about
// context tokens; 0 is DefaultContext.
func Texts(names []string, context int) ([]collect.Text, error) {
	if context == 0 {
		context = DefaultContext
	}
	if context < 256 || context > MaxContext {
		return nil, fmt.Errorf("--context-size %d: must be from 256 to %d tokens", context, MaxContext)
	}
	var out []collect.Text
	for _, name := range names {
		i := slices.IndexFunc(Names(), func(n string) bool { return n == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no prompt kind %q: take %s", name, strings.Join(Names(), ", "))
		}
		k := all[i]
		text := collect.Text{Kind: k.name, Text: strings.TrimSpace(k.text), Limit: k.limit}
		if k.name == "context_fill" {
			text.Text, text.About = filled(context), int64(context)
		}
		out = append(out, text)
	}
	return out, nil
}

// filled is a log of about n tokens in front of a question about it. Its lines
// are numbered, so no line repeats another.
func filled(n int) string {
	question := strings.TrimSpace(contextFill)
	size := int(float64(n)*charsPerToken) - len(question)
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		room := rooms[i%len(rooms)]
		fmt.Fprintf(&b, "Entry %d: the sensor in the %s read %d degrees, and the keeper wrote that nothing else was worth a note.\n", i, room, 11+i*7%23)
	}
	return b.String() + "\n" + question
}

var rooms = []string{"north cellar", "glass house", "engine room", "library", "long corridor", "boat shed", "kitchen"}
