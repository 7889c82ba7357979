package template

import (
	"fmt"
	"slices"
	"strings"
)

// A statement is a piece with its tokens.
type statement struct {
	kind byte
	text string // of a text
	list []token
}

// word is the keyword of a block.
func (s statement) word() string {
	if len(s.list) == 0 {
		return ""
	}
	return s.list[0].text
}

// A block is an open statement.
type block struct {
	word   string
	at     int      // its statement
	locals []string // what a loop's head names
	sets   []string // what is assigned to in its body
	leaves bool     // a break or continue is in its body
	other  bool     // it is a loop, and its else has come
}

// A keep is a list of variables whose values are kept before a statement, for
// each turn of a loop or for after a block.
type keep struct {
	id    int
	names []string
}

// keeps says what to keep before which statements, and after which statements
// to give it back. In Jinja an assignment in a loop lasts for one turn, and one
// in a block that makes a text until the block's end; the interpreter lets it
// stand.
type keeps struct {
	before, after map[int]keep
	open          []*block
}

func findKeeps(statements []statement) (*keeps, error) {
	k := &keeps{before: map[int]keep{}, after: map[int]keep{}}
	for i, s := range statements {
		if s.kind != kindBlock {
			continue
		}
		if err := k.statement(i, s); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *keeps) statement(i int, s statement) error {
	word := s.word()
	if word == "set" {
		if k.scope().other {
			return &UnsupportedError{What: "an assignment in the else of a loop"} // it would last until there
		}
		k.scope().assign(s.target())
	}
	inner := &block{word: " none"}
	if n := len(k.open); n > 0 {
		inner = k.open[n-1]
	}
	switch word {
	case "set", "if", "for", "macro", "generation":
		if len(k.open) == maxNesting {
			return &UnsupportedError{What: fmt.Sprintf("blocks %d deep", maxNesting)}
		}
		if word != "set" || len(s.list) == 2 {
			k.open = append(k.open, &block{word: word, at: i, locals: s.heads()})
		}
	case "break", "continue":
		k.scope().leaves = true
	case "else":
		inner.other = inner.word == "for"
		if inner.other && inner.leaves {
			// Jinja goes into it after a first turn that was left.
			return &UnsupportedError{What: "an else of a loop that has a break or a continue"}
		}
	case "end" + inner.word:
		k.close(inner, i)
	}
	return nil
}

// scope is the innermost block that is one to variables.
func (k *keeps) scope() *block {
	for _, b := range slices.Backward(k.open) {
		if b.word != "if" {
			return b
		}
	}
	return &block{}
}

// close ends the innermost block with statement i.
func (k *keeps) close(b *block, i int) {
	k.open = k.open[:len(k.open)-1]
	if len(b.sets) == 0 || b.word == "if" || b.word == "macro" {
		return
	}
	kept := keep{id: b.at, names: b.sets}
	k.before[b.at] = kept
	if b.word == "for" {
		k.after[b.at] = kept
	} else {
		k.after[i] = kept
	}
}

func (b *block) assign(name string) {
	if name != "" && !slices.Contains(b.sets, name) && !slices.Contains(b.locals, name) {
		b.sets = append(b.sets, name)
	}
}

// target is the variable that a set assigns to, "" for a namespace's attribute.
func (s statement) target() string {
	if len(s.list) < 2 || len(s.list) > 2 && s.list[2].text != "=" {
		return ""
	}
	return s.list[1].text
}

// heads are the variables that a loop's head names.
func (s statement) heads() []string {
	var out []string
	for _, t := range s.list[1:] {
		if t.kind == 'n' && t.text == "in" {
			break
		}
		if t.kind == 'n' {
			out = append(out, t.text)
		}
	}
	return out
}

// check refuses statements that the interpreter takes for something else.
func (s statement) check() error {
	odd := false
	switch s.word() {
	case "set":
		// a, b = pair; and blocks with a filter
		namespace := len(s.list) > 4 && s.list[2].text == "." && s.list[4].text == "="
		odd = s.target() == "" && !namespace
	case "for":
		odd = len(s.list) < 2 || s.list[1].kind != 'n' || len(s.heads()) > 2 ||
			slices.ContainsFunc(s.list, func(t token) bool { return t.kind == 'n' && t.text == "recursive" })
	case "macro":
		odd = oddDefaults(s.list)
	case "call", "filter", "raw":
		odd = true
	}
	if odd {
		return &UnsupportedError{What: fmt.Sprintf("the statement %q", clip(source(s.list)))}
	}
	return nil
}

// oddDefaults reports default values that are more than one literal: the
// interpreter cuts the list of parameters at each comma, and calculates what it
// finds there unbounded.
func oddDefaults(list []token) bool {
	for i, t := range list {
		if i < 3 || i == len(list)-1 {
			continue
		}
		empty := t.kind == 'o' && (list[i-1].text+t.text == "[]" || t.text+list[i+1].text == "[]")
		if t.kind == 'o' && strings.Contains("()[]{}+*/%~|<>", t.text) && !empty || t.kind == 's' && strings.ContainsAny(t.text, ",=()") {
			return true
		}
	}
	return false
}
