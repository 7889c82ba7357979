package template

import (
	"fmt"
	"strings"
)

func (o *operators) unary() ([]token, error) {
	var out []token
	for o.next("-") || o.next("+") {
		out = append(out, o.take())
	}
	if len(out) > maxNesting {
		return nil, o.odd()
	}
	rest, err := o.postfix()
	return append(out, rest...), err
}

// postfix reads an operand with its subscripts, calls and filters.
func (o *operators) postfix() ([]token, error) {
	if o.at == len(o.list) || loose(o.list[o.at]) {
		return nil, o.odd()
	}
	var out []token
	first := o.list[o.at]
	if first.kind == 'o' && strings.Contains("([{", first.text) {
		inner, err := o.brackets()
		if err != nil {
			return nil, err
		}
		out = inner
	} else if out = append(out, o.take()); first.kind == 'o' && !isName(first.text[0]) {
		return nil, o.odd()
	}
	for o.at < len(o.list) && o.list[o.at].kind == 'o' {
		var err error
		switch o.list[o.at].text {
		case ".", "|":
			out, err = o.named(out)
		case "[":
			out, err = o.subscript(out)
		case "(":
			var args []token
			args, err = o.brackets()
			out = append(call(callee, out, []token{{kind: 's', text: clip(source(out))}}), args...)
		default:
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// named reads an attribute or a filter behind an operand.
func (o *operators) named(of []token) ([]token, error) {
	if o.at+1 == len(o.list) || o.list[o.at+1].kind == 's' || !isName(o.list[o.at+1].text[0]) {
		return nil, o.odd()
	}
	sign := o.take()
	out := append(of, sign, o.take())
	if sign.text == "." || !o.next("(") {
		return out, nil
	}
	args, err := o.brackets()
	return append(out, args...), err
}

// brackets reads a bracket with what it holds. The keys of a mapping must be
// plain strings: the interpreter prints what else they are.
func (o *operators) brackets() ([]token, error) {
	if o.depth++; o.depth > maxNesting {
		return nil, &UnsupportedError{What: fmt.Sprintf("brackets %d deep", maxNesting)}
	}
	open := o.take()
	begin := o.at
	inner, err := o.all()
	if err != nil {
		return nil, err
	}
	if o.at == len(o.list) {
		return nil, o.odd()
	}
	if open.text == "{" && !plainKeys(o.list[begin:o.at]) {
		return nil, &UnsupportedError{What: "a mapping with keys that are no plain strings"}
	}
	o.depth--
	return append(append([]token{open}, inner...), o.take()), nil
}

func plainKeys(list []token) bool {
	depth := 0
	for i, t := range list {
		switch {
		case t.kind != 'o':
		case strings.Contains("([{", t.text):
			depth++
		case strings.Contains(")]}", t.text):
			depth--
		case t.text == ":" && depth == 0:
			if i == 0 || list[i-1].kind != 's' || i > 1 && (list[i-2].kind != 'o' || list[i-2].text != ",") {
				return false
			}
		}
	}
	return true
}

// subscript reads [key], [from:to] or [::step] behind an operand.
func (o *operators) subscript(of []token) ([]token, error) {
	inner, err := o.brackets()
	if err != nil {
		return nil, err
	}
	parts := parts(inner[1 : len(inner)-1])
	if len(parts) > 3 || len(parts) == 3 && len(parts[0])+len(parts[1]) > 0 {
		return nil, &UnsupportedError{What: "a slice of steps between bounds"}
	}
	out := append(of, token{kind: 'o', text: "|"}, token{kind: 'n', text: part}, token{kind: 'o', text: "("}, token{kind: 'o', text: ")"}, inner[0])
	if len(parts) == 1 {
		return append(append(out, call(key, parts[0])...), inner[len(inner)-1]), nil
	}
	for i, p := range parts {
		if i > 0 {
			out = append(out, token{kind: 'o', text: ":"})
		}
		if len(p) > 0 {
			out = append(out, call(limit, p)...)
		}
	}
	return append(out, inner[len(inner)-1]), nil
}

// parts cuts what stands between square brackets at its colons.
func parts(list []token) [][]token {
	out, begin, depth := [][]token{}, 0, 0
	for i, t := range list {
		switch {
		case t.kind != 'o':
		case strings.Contains("([{", t.text):
			depth++
		case strings.Contains(")]}", t.text):
			depth--
		case t.text == ":" && depth == 0:
			out, begin = append(out, list[begin:i]), i+1
		}
	}
	return append(out, list[begin:])
}
