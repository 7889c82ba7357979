package template

import (
	"errors"
	"fmt"
	"strings"
	"time"

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
	return "the chat template refuses the conversation: " + e.Message
}

// A Template is a chat template that is ready to be rendered. It is safe for
// concurrent use.
type Template struct {
	compiled *jinja.Template
	globals  map[string]jinja.Value
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
	t := &Template{compiled: compiled, date: date, dated: strings.Contains(src, "strftime_now")}
	t.globals = t.functions(lacks)
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
	var messages []jinja.Value
	if system != "" {
		messages = append(messages, message("system", system))
	}
	messages = append(messages, message("user", user))
	data := make(map[string]jinja.Value, len(t.globals)+1)
	for name, v := range t.globals {
		data[name] = v
	}
	data["messages"] = jinja.NewList(messages)
	text, err := t.compiled.RenderValues(data)
	var unsupported *UnsupportedError
	var refused *RefusedError
	if err == nil || errors.As(err, &unsupported) || errors.As(err, &refused) {
		return text, err
	}
	return "", &UnsupportedError{What: err.Error()}
}

func message(role, content string) jinja.Value {
	m := jinja.NewDict()
	m.AsDict().Set("role", jinja.NewString(role))
	m.AsDict().Set("content", jinja.NewString(content))
	return m
}

// functions are what a template can call that is not the interpreter's.
func (t *Template) functions(lacks map[string]bool) map[string]jinja.Value {
	out := map[string]jinja.Value{}
	add := func(name, shown string, call func([]jinja.Value) (jinja.Value, error)) {
		out[name] = jinja.NewCallable(name, func(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
			if len(named) > 0 {
				return jinja.Undefined(), &UnsupportedError{What: shown + " with named arguments"}
			}
			v, err := call(args)
			var refused *RefusedError
			if err != nil && !errors.As(err, &refused) {
				err = &UnsupportedError{What: fmt.Sprintf("%s: %v", shown, err)}
			}
			return v, err
		})
	}
	for _, table := range []map[string]function{filters, methods} {
		for shown, f := range table {
			add(ours+f.name, shown, f.call)
		}
	}
	for name := range lacks {
		add(missing+name, name, func([]jinja.Value) (jinja.Value, error) { return jinja.Undefined(), errors.New("not known") })
	}
	add(printer, "an expression", printed)
	add(tester, "a test", test)
	add(antitester, "a test", func(args []jinja.Value) (jinja.Value, error) {
		v, err := test(args)
		return jinja.NewBool(!v.IsTruthy()), err
	})
	add("raise_exception", "raise_exception", raise)
	add("strftime_now", "strftime_now", func(args []jinja.Value) (jinja.Value, error) {
		format, err := texts(args, 1, 1)
		if err != nil {
			return jinja.Undefined(), err
		}
		s, err := strftime(t.date, format[0])
		return jinja.NewString(s), err
	})
	return out
}

func raise(args []jinja.Value) (jinja.Value, error) {
	s, err := texts(args, 1, 1)
	if err != nil {
		return jinja.Undefined(), err
	}
	return jinja.Undefined(), &RefusedError{Message: s[0]}
}

// translate makes a template that the interpreter renders as Jinja renders src.
func translate(src string, lacks map[string]bool) (string, error) {
	pieces, err := split(src)
	if err != nil {
		return "", err
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
			b.WriteString("{{ " + quote(s.text) + " }}")
		case kindOutput:
			b.WriteString("{{ " + printer + "(" + source(s.list) + ") }}")
		default:
			b.WriteString("{% " + source(s.list) + " %}")
		}
		for _, name := range k.after[i].names {
			fmt.Fprintf(&b, "{%% set %s = %s%d_%s %%}", name, kept, k.after[i].id, name)
		}
	}
	return b.String(), nil
}
