package serve

import (
	"errors"
	"slices"
	"strings"

	"tokwatt/mlx/engine"
	"tokwatt/mlx/model"
)

// prompt is a conversation as the engine takes it: text where it is one
// question, tokens where it has more turns, which the engine's own template has
// no place for.
type prompt struct {
	system, user string
	ids          []int32
	tokens       int
}

var errNoMessages = errors.New("messages is empty: send at least one")

// render makes the prompt of a conversation. System messages are joined and
// come first, wherever they stood; a tool's answer is the user's.
func render(all []message) (prompt, error) {
	if len(all) == 0 {
		return prompt{}, errNoMessages
	}
	var system []string
	var turns []message
	for _, m := range all {
		switch m.role {
		case "system", "developer":
			system = append(system, m.text)
		default:
			turns = append(turns, m)
		}
	}
	p := prompt{system: strings.Join(system, "\n")}
	if len(turns) == 0 {
		turns = []message{{role: "user"}}
	}
	if len(turns) == 1 && turns[0].role != "assistant" {
		p.user = turns[0].text
		p.tokens = engine.CountPrompt(p.system, p.user)
		return p, nil
	}
	p.ids = conversation(p.system, turns)
	p.tokens = len(p.ids)
	return p, nil
}

// conversation is the engine's template carried on over several turns:
//
//	BOS [SYSTEM system] (USER user | ASSISTANT answer EOS)… ASSISTANT
func conversation(system string, turns []message) []int32 {
	ids := []int32{model.TokenBOS}
	if system != "" {
		ids = slices.Concat(ids, []int32{model.TokenSystem}, tokensOf(system))
	}
	for _, t := range turns {
		if t.role == "assistant" {
			ids = slices.Concat(ids, []int32{model.TokenAssistant}, tokensOf(t.text), []int32{model.TokenEOS})
			continue
		}
		ids = slices.Concat(ids, []int32{model.TokenUser}, tokensOf(t.text))
	}
	return append(ids, model.TokenAssistant)
}

// tokensOf are the tokens of a text by the byte tokenizer.
func tokensOf(text string) []int32 {
	ids := make([]int32, len(text))
	for i := range len(text) {
		ids[i] = int32(text[i])
	}
	return ids
}
