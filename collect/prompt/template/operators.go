package template

import (
	"fmt"
	"strings"
)

// bound makes calls of ours of all in a statement or an expression that can
// grow, loop or dig into values, so that a meter bounds it: operators,
// subscripts, what a loop runs over, and each call's function.
func bound(list []token, statement bool) ([]token, error) {
	if len(list) > maxTokens {
		return nil, &UnsupportedError{What: fmt.Sprintf("a tag of more than %d words", maxTokens)}
	}
	if !statement {
		return calls(list)
	}
	switch word := list[0].text; word {
	case "set":
		return after(list, func(t token) bool { return t.text == "=" })
	case "for":
		return loop(list)
	case "if", "elif":
		return after(list, func(t token) bool { return t.text == word })
	}
	return list, nil
}

// after bounds what stands behind the first token of a kind.
func after(list []token, last func(token) bool) ([]token, error) {
	for i, t := range list {
		if t.kind != 's' && last(t) {
			rest, err := calls(list[i+1:])
			return append(list[:i+1:i+1], rest...), err
		}
	}
	return list, nil
}

// loop bounds "for x in list if condition".
func loop(list []token) ([]token, error) {
	in, condition, depth := -1, len(list), 0
	for i, t := range list {
		switch {
		case t.kind == 'o' && strings.Contains("([{", t.text):
			depth++
		case t.kind == 'o' && strings.Contains(")]}", t.text):
			depth--
		case t.kind == 'n' && t.text == "in" && in < 0:
			in = i
		case t.kind == 'n' && t.text == "if" && depth == 0 && condition == len(list):
			condition = i
		}
	}
	if in < 0 || condition < in {
		return nil, &UnsupportedError{What: fmt.Sprintf("the statement %q", source(list))}
	}
	over, err := calls(list[in+1 : condition])
	if err != nil {
		return nil, err
	}
	out := append(list[:in+1:in+1], call(each, over)...)
	if condition < len(list) {
		when, err := calls(list[condition+1:])
		if err != nil {
			return nil, err
		}
		out = append(append(out, list[condition]), call(condit, when)...)
	}
	return out, nil
}

// call is a call of ours.
func call(name string, args ...[]token) []token {
	out := []token{{kind: 'n', text: name, space: true}, {kind: 'o', text: "("}}
	for i, a := range args {
		if i > 0 {
			out = append(out, token{kind: 'o', text: ","})
		}
		out = append(out, a...)
	}
	return append(out, token{kind: 'o', text: ")"})
}

// operators reads an expression by its grammar, as far as that is needed to
// know the operands.
type operators struct {
	list  []token
	at    int
	depth int
}

func calls(list []token) ([]token, error) {
	o := &operators{list: list}
	out, err := o.all()
	if err == nil && o.at < len(list) {
		err = o.odd()
	}
	return out, err
}

func (o *operators) odd() error {
	return &UnsupportedError{What: fmt.Sprintf("the expression %q", clip(source(o.list)))}
}

// levels are the binary operators by how tightly they bind, the loosest first,
// as the interpreter has them.
var levels = [][]string{
	{"==", "!=", "<=", ">=", "<", ">", "in", "not in"},
	{"~"},
	{"+", "-"},
	{"//", "*", "/", "%"},
	{"**"},
}

// operator is the binary operator of a level that comes next, "" if none does.
func (o *operators) operator(level int) string {
	for _, op := range levels[level] {
		if o.next(op) {
			return op
		}
	}
	return ""
}

// next reports what comes next: a sign or a word, of which "not in" are two.
func (o *operators) next(op string) bool {
	rest := o.list[o.at:]
	switch first, second, two := strings.Cut(op, " "); {
	case len(rest) == 0 || rest[0].kind == 's':
		return false
	case two:
		return len(rest) > 1 && rest[0].text == first && rest[1].kind == 'n' && rest[1].text == second
	case rest[0].kind == 'n':
		return rest[0].text == op
	}
	double := len(rest) > 1 && rest[1].kind == 'o' && !rest[1].space
	if len(op) == 2 {
		return double && rest[0].text+rest[1].text == op
	}
	return rest[0].text == op && (op != "*" && op != "/" || !double || rest[1].text != op)
}

func (o *operators) take() token {
	o.at++
	return o.list[o.at-1]
}

// all reads up to a closing bracket or the end: operands, with what binds more
// loosely than the operators between them.
func (o *operators) all() ([]token, error) {
	var out []token
	for o.at < len(o.list) {
		t := o.list[o.at]
		switch {
		case t.kind == 'o' && strings.Contains(")]}", t.text):
			return out, nil
		case loose(t):
			out = append(out, o.take())
			continue
		}
		part, err := o.chain(0)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// loose reports what is no part of an operand.
func loose(t token) bool {
	switch t.text {
	case "and", "or", "not", "if", "else", "in":
		return t.kind == 'n'
	case ",", ":", "=":
		return t.kind == 'o'
	}
	return false
}

// chain reads operands and the operators of a level, or of tighter ones.
func (o *operators) chain(level int) ([]token, error) {
	if level == len(levels) {
		return o.unary()
	}
	left, err := o.chain(level + 1)
	if err != nil {
		return nil, err
	}
	for used := ""; ; {
		op := o.operator(level)
		if op == "" {
			return left, nil
		}
		if used != "" && (level == 0 || op == "**") {
			return nil, o.odd() // Python's chains of comparisons are no plain ones
		}
		if o.at += len(strings.Fields(op)); len(op) == 2 && op != "in" {
			o.at++
		}
		right, err := o.chain(level + 1)
		if err != nil {
			return nil, err
		}
		if op == used { // one call for all of a + b + c: it is not nested
			left = append(append(left[:len(left)-1:len(left)-1], token{kind: 'o', text: ","}), append(right, token{kind: 'o', text: ")"})...)
		} else {
			left = call(operation, []token{{kind: 's', text: op}}, left, right)
		}
		used = op
	}
}
