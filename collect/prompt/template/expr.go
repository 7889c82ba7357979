package template

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A token of an expression or a statement.
type token struct {
	kind  byte   // 's' string, 'n' name, 'o' anything else
	text  string // of a string: its value
	space bool   // white space stood before it
}

// tokens cuts what stands in a tag. Only what rewrite looks at has a kind of
// its own.
func tokens(body string) ([]token, error) {
	var out []token
	space := false
	for i := 0; i < len(body); {
		n, t := 1, token{kind: 'o'}
		switch c := body[i]; {
		case isSpace(rune(c)):
			space = true
			i++
			continue
		case c == '\'' || c == '"':
			n = stringLength(body[i:])
			value, err := unescape(body[i+1 : i+n-1])
			if err != nil {
				return nil, err
			}
			t = token{kind: 's', text: value}
		case isName(c):
			for i+n < len(body) && isName(body[i+n]) {
				n++
			}
			t.text = body[i : i+n]
			switch {
			case c < '0' || c > '9':
				t.kind = 'n'
			case strings.Trim(t.text, "0123456789") != "":
				return nil, &UnsupportedError{What: fmt.Sprintf("the number %q", clip(t.text))}
			}
		case c >= utf8.RuneSelf:
			return nil, &UnsupportedError{What: fmt.Sprintf("the character in %q", clip(body))}
		default:
			t.text = body[i : i+1]
		}
		t.space = space
		space = false
		out = append(out, t)
		i += n
	}
	return out, nil
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// unescape is the value of a string literal, by Python's rules.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		simple := strings.IndexByte(`\'"abfnrtv`, s[i])
		switch {
		case simple >= 0:
			b.WriteByte("\\'\"\a\b\f\n\r\t\v"[simple])
		case s[i] == '\n':
		case digits > 0 && i+digits < len(s):
			r, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil || r >= 0xd800 && r < 0xe000 || r > 0x10ffff {
				return "", &UnsupportedError{What: fmt.Sprintf("the string %q", clip(s))}
			}
			b.WriteRune(rune(r))
			i += digits
		case digits > 0 || s[i] == 'N' || s[i] >= '0' && s[i] <= '7':
			return "", &UnsupportedError{What: fmt.Sprintf("the string %q", clip(s))}
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// literal writes a string as the interpreter reads it back.
var literal = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

func quote(s string) string { return `"` + literal.Replace(s) + `"` }

// The names of what is not the interpreter's own: our functions, and those that
// are missing. A template that used such a name itself would be refused.
const (
	ours       = "tokwatt_"
	missing    = "tokwatt_no_"
	printer    = ours + "print"
	kept       = ours + "kept"
	tester     = ours + "is"
	antitester = ours + "isnot"
	operation  = ours + "op"    // of a binary operator
	callee     = ours + "fn"    // what is called
	each       = ours + "each"  // what a loop runs over
	condit     = ours + "when"  // a loop's condition
	turn       = ours + "turn"  // a turn of a loop
	enter      = ours + "enter" // a macro's begin
	leave      = ours + "leave" // and its end
	part       = ours + "part"  // what is sliced or looked up in
	key        = ours + "key"   // what is looked up
	limit      = ours + "limit" // a bound of a slice
)

// rewrite puts our functions in the place of filters, methods and tests; all
// three become filters, which bind as tightly. What we don't have is noted in
// lacks.
func rewrite(list []token, lacks map[string]bool) ([]token, error) {
	var out []token
	is := func(i int, text string) bool {
		return i >= 0 && i < len(list) && list[i].kind != 's' && list[i].text == text
	}
	for i := 0; i < len(list); i++ {
		t := list[i]
		switch {
		case t.kind != 'n':
		case strings.HasPrefix(t.text, ours):
			return nil, &UnsupportedError{What: "the name " + t.text}
		case is(i-1, "|"):
			t.text = replacement(t.text, listFilters, filters, lacks)
		case is(i-1, ".") && is(i+1, "("):
			t.text = replacement(t.text, listMethods, methods, lacks)
			out[len(out)-1].text = "|"
		case t.text == "is" && !is(i-1, "."):
			call, used, err := testCall(list[i:])
			if err != nil {
				return nil, err
			}
			out = append(out, call...)
			i += used - 1
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

// testCall makes "is not string" a call of our own, with the test's name as its
// first argument. used is how many tokens it stands for.
func testCall(list []token) (call []token, used int, err error) {
	name, fn := 1, tester
	if len(list) > 2 && list[1].text == "not" {
		name, fn = 2, antitester
	}
	if name >= len(list) || list[name].kind != 'n' {
		return nil, 0, &UnsupportedError{What: fmt.Sprintf("%q", clip(source(list)))}
	}
	call = []token{{kind: 'o', text: "|"}, {kind: 'n', text: fn}, {kind: 'o', text: "("}, {kind: 's', text: list[name].text}}
	used = name + 1
	if used == len(list) || list[used].kind == 'o' && strings.Contains("])},:|=!~+-*/%<>", list[used].text) {
		return append(call, token{kind: 'o', text: ")"}), used, nil
	}
	switch next := list[used]; {
	case next.kind == 'o' && next.text == "(":
		return append(call, token{kind: 'o', text: ","}), used + 1, nil
	case next.kind == 'n' && (next.text == "and" || next.text == "or" || next.text == "else"):
		return append(call, token{kind: 'o', text: ")"}), used, nil
	}
	return nil, 0, &UnsupportedError{What: fmt.Sprintf("an argument without brackets in %q", clip(source(list)))}
}

// replacement is the name by which a filter or method is called.
func replacement(name string, lists map[string]bool, own map[string]function, lacks map[string]bool) string {
	if lists[name] {
		return ours + name
	}
	if f, ok := own[name]; ok {
		return ours + f.name
	}
	lacks[name] = true
	return missing + name
}

// source writes tokens back. No two of them make a delimiter.
func source(list []token) string {
	var b strings.Builder
	last := byte(0)
	for _, t := range list {
		text := t.text
		if t.kind == 's' {
			text = quote(t.text)
		}
		if t.space || strings.IndexByte("{}%#-+", last) >= 0 && strings.IndexByte("{}%#-+", text[0]) >= 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
		last = text[len(text)-1]
	}
	return b.String()
}

// clip shortens what a message repeats.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
