package template

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/ardanlabs/jinja"
)

// Special are a model's special tokens by the names that templates know them
// by. An empty one is not defined there.
type Special struct {
	BOS, EOS, UNK, PAD, SEP, CLS, Mask string
}

// UnsupportedError is what can't be rendered as Jinja would.
type UnsupportedError struct {
	What string
}

func (e *UnsupportedError) Error() string {
	return "the chat template uses what can't be rendered exactly here: " + e.What
}

// RefusedError is a template's own refusal of a conversation, as of one with a
// system message.
type RefusedError struct {
	Message string
}

func (e *RefusedError) Error() string {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, e.Message)
	return "the chat template refuses the conversation: " + clip(plain)
}

// A Template is a chat template that is ready to be rendered. It is safe for
// concurrent use.
type Template struct {
	compiled *jinja.Template
	globals  map[string]jinja.Value
	lacks    map[string]bool // the functions that it names and that we don't have
	date     time.Time
	dated    bool
}

// Parse reads a chat template. date is what strftime_now says: a template that
// asks for it renders another text, and perhaps another length, on another day.
// What can't be rendered exactly is an *UnsupportedError, here or from Render.
func Parse(src string, tokens Special, date time.Time) (*Template, error) {
	lacks := map[string]bool{}
	translated, err := translate(src, lacks)
	if err != nil {
		return nil, err
	}
	compiled, err := jinja.Compile(translated)
	if err != nil {
		return nil, &UnsupportedError{What: err.Error()}
	}
	t := &Template{compiled: compiled, lacks: lacks, date: date, dated: strings.Contains(src, "strftime_now")}
	t.globals = map[string]jinja.Value{}
	for name, token := range map[string]string{
		"bos_token": tokens.BOS, "eos_token": tokens.EOS, "unk_token": tokens.UNK, "pad_token": tokens.PAD,
		"sep_token": tokens.SEP, "cls_token": tokens.CLS, "mask_token": tokens.Mask,
	} {
		if token != "" {
			t.globals[name] = jinja.NewString(token)
		}
	}
	// transformers always passes these.
	t.globals["tools"] = jinja.None()
	t.globals["documents"] = jinja.None()
	t.globals["add_generation_prompt"] = jinja.NewBool(true)
	return t, nil
}

// Date is the day that the template takes for today, and whether it asks.
func (t *Template) Date() (date time.Time, asked bool) { return t.date, t.dated }

// Render writes a conversation of one user message, behind a system message
// unless that is empty, up to where the model begins to speak.
func (t *Template) Render(system, user string) (string, error) {
	var messages []Message
	if system != "" {
		messages = append(messages, Message{"system", system})
	}
	return t.Conversation(append(messages, Message{"user", user}))
}

// Message is one turn of a conversation.
type Message struct{ Role, Content string }

// Conversation writes a conversation up to where the model begins to speak.
func (t *Template) Conversation(all []Message) (string, error) {
	var messages []jinja.Value
	size := 0
	for _, m := range all {
		messages = append(messages, message(m.Role, m.Content))
		size += len(m.Role) + len(m.Content)
	}
	m := newMeter(size)
	data := t.functions(m)
	for name, v := range t.globals {
		data[name] = v
	}
	data["messages"] = jinja.NewList(messages)
	text, err := t.run(data)
	if m.err != nil {
		err = m.err
	}
	var unsupported *UnsupportedError
	var refused *RefusedError
	if err == nil || errors.As(err, &unsupported) || errors.As(err, &refused) {
		return text, err
	}
	return "", &UnsupportedError{What: clip(err.Error())}
}

// run makes an error of what the interpreter panics at.
func (t *Template) run(data map[string]jinja.Value) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("what the interpreter stops at (%v)", p)
		}
	}()
	return t.compiled.RenderValues(data)
}

func message(role, content string) jinja.Value {
	m := jinja.NewDict()
	m.AsDict().Set("role", jinja.NewString(role))
	m.AsDict().Set("content", jinja.NewString(content))
	return m
}

// translate makes a template that the interpreter renders as Jinja renders src.
func translate(src string, lacks map[string]bool) (string, error) {
	if len(src) > maxSource {
		return "", &UnsupportedError{What: fmt.Sprintf("more than %d KiB of program", maxSource>>10)}
	}
	pieces, err := split(src)
	if err != nil {
		return "", err
	}
	if len(pieces) > 2*maxTags {
		return "", &UnsupportedError{What: fmt.Sprintf("more than %d tags", maxTags)}
	}
	statements := make([]statement, len(pieces))
	for i, p := range pieces {
		statements[i] = statement{kind: p.kind, text: p.body}
		if p.kind == kindText {
			continue
		}
		if statements[i].list, err = tokens(p.body); err != nil {
			return "", err
		}
		if p.kind == kindBlock {
			if err := statements[i].check(); err != nil {
				return "", err
			}
		}
		if statements[i].list, err = rewrite(statements[i].list, lacks); err != nil {
			return "", err
		}
		if statements[i].list, err = bound(statements[i].list, p.kind == kindBlock && len(statements[i].list) > 0); err != nil {
			return "", err
		}
	}
	return write(statements)
}

func write(statements []statement) (string, error) {
	k, err := findKeeps(statements)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i, s := range statements {
		for _, name := range k.before[i].names {
			fmt.Fprintf(&b, "{%% set %s%d_%s = %s %%}", kept, i, name, name)
		}
		switch s.kind {
		case kindText:
			b.WriteString("{{ " + printer + "(" + quote(s.text) + ") }}")
		case kindOutput:
			b.WriteString("{{ " + printer + "(" + source(s.list) + ") }}")
		default:
			if s.word() == "endmacro" {
				b.WriteString("{{ " + leave + "() }}")
			}
			b.WriteString("{% " + source(s.list) + " %}")
			if hook := map[string]string{"for": turn, "macro": enter}[s.word()]; hook != "" {
				b.WriteString("{{ " + hook + "() }}")
			}
		}
		for _, name := range k.after[i].names {
			fmt.Fprintf(&b, "{%% set %s = %s%d_%s %%}", name, kept, k.after[i].id, name)
		}
	}
	return b.String(), nil
}
