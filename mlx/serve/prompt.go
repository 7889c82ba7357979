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

// render makes the prompt of a conversation, by encode where there is one. Else
// system messages are joined and come first, wherever they stood, and a tool's
// answer is the user's.
func render(all []Message, encode Encode) (prompt, error) {
	if len(all) == 0 {
		return prompt{}, errNoMessages
	}
	if encode != nil {
		ids, err := encode(all)
		return prompt{ids: ids, tokens: len(ids)}, err
	}
	var system []string
	var turns []Message
	for _, m := range all {
		switch m.Role {
		case "system", "developer":
			system = append(system, m.Text)
		default:
			turns = append(turns, m)
		}
	}
	p := prompt{system: strings.Join(system, "\n")}
	if len(turns) == 0 {
		turns = []Message{{Role: "user"}}
	}
	if len(turns) == 1 && turns[0].Role != "assistant" {
		p.user = turns[0].Text
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
func conversation(system string, turns []Message) []int32 {
	ids := []int32{model.TokenBOS}
	if system != "" {
		ids = slices.Concat(ids, []int32{model.TokenSystem}, tokensOf(system))
	}
	for _, t := range turns {
		if t.Role == "assistant" {
			ids = slices.Concat(ids, []int32{model.TokenAssistant}, tokensOf(t.Text), []int32{model.TokenEOS})
			continue
		}
		ids = slices.Concat(ids, []int32{model.TokenUser}, tokensOf(t.Text))
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
