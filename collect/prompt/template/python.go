package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ardanlabs/jinja"
)

// A function stands in for a filter or a method of a string. args[0] is what
// it is applied to.
type function struct {
	name string
	call func(args []jinja.Value) (jinja.Value, error)
}

// filters and methods by the names that templates use. Where Jinja's filter and
// Python's method of one name differ, they are two functions.
var (
	filters = map[string]function{
		"trim":       {"strip", trimmed(strings.TrimFunc)},
		"upper":      {"upper", ascii(strings.ToUpper)},
		"lower":      {"lower", ascii(strings.ToLower)},
		"capitalize": {"capitalize", ascii(capitalize)},
		"title":      {"titled", ascii(titleFilter)},
		"first":      {"first", element(true)},
		"last":       {"last", element(false)},
		"tojson":     {"tojson", tojson},
		"int":        {"int", integer},
		"replace":    {"replace", replace},
	}
	methods = map[string]function{
		"strip":        {"strip", trimmed(strings.TrimFunc)},
		"lstrip":       {"lstrip", trimmed(strings.TrimLeftFunc)},
		"rstrip":       {"rstrip", trimmed(strings.TrimRightFunc)},
		"upper":        {"upper", ascii(strings.ToUpper)},
		"lower":        {"lower", ascii(strings.ToLower)},
		"capitalize":   {"capitalize", ascii(capitalize)},
		"title":        {"title", ascii(titleMethod)},
		"split":        {"split", splitMethod},
		"startswith":   {"startswith", affix(strings.HasPrefix)},
		"endswith":     {"endswith", affix(strings.HasSuffix)},
		"replace":      {"replace", replace},
		"removeprefix": {"removeprefix", remove(strings.TrimPrefix)},
		"removesuffix": {"removesuffix", remove(strings.TrimSuffix)},
	}
)

var errArguments = errors.New("arguments of another kind than strings")

// texts are the arguments, all of which must be strings.
func texts(args []jinja.Value, atLeast, atMost int) ([]string, error) {
	if len(args) < atLeast || len(args) > atMost {
		return nil, errArguments
	}
	out := make([]string, len(args))
	for i, a := range args {
		if !a.IsString() {
			return nil, errArguments
		}
		out[i] = a.AsString()
	}
	return out, nil
}

// trimmed is strip and its kin: white space, or the characters given.
func trimmed(trim func(string, func(rune) bool) string) func([]jinja.Value) (jinja.Value, error) {
	return func(args []jinja.Value) (jinja.Value, error) {
		if len(args) == 1 && args[0].IsUndefined() {
			return jinja.NewString(""), nil // the filter's way; the method has no such receiver
		}
		s, err := texts(args, 1, 2)
		if err != nil {
			return jinja.Undefined(), err
		}
		cut := isSpace
		if len(s) == 2 {
			if len(s[1]) > maxNesting {
				return jinja.Undefined(), errors.New("many characters to take away")
			}
			cut = func(r rune) bool { return strings.ContainsRune(s[1], r) }
		}
		return jinja.NewString(trim(s[0], cut)), nil
	}
}

// ascii applies f to a string of ASCII characters. Python's tables of upper and
// lower case are not Go's.
func ascii(f func(string) string) func([]jinja.Value) (jinja.Value, error) {
	return func(args []jinja.Value) (jinja.Value, error) {
		s, err := texts(args, 1, 1)
		if err != nil {
			return jinja.Undefined(), err
		}
		if strings.IndexFunc(s[0], func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			return jinja.Undefined(), errors.New("upper and lower case of characters other than ASCII's")
		}
		return jinja.NewString(f(s[0])), nil
	}
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
}

// titleMethod is Python's str.title: a letter after none is upper case.
func titleMethod(s string) string {
	b := []byte(strings.ToLower(s))
	for i := range b {
		if isLetter(b[i]) && (i == 0 || !isLetter(b[i-1])) {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// titleFilter is Jinja's title: words are parted by white space and -({[<.
func titleFilter(s string) string {
	b := []byte(strings.ToLower(s))
	start := true
	for i, c := range b {
		if strings.IndexByte("-({[<", c) >= 0 || isSpace(rune(c)) {
			start = true
			continue
		}
		if start {
			b[i] = strings.ToUpper(string(c))[0]
		}
		start = false
	}
	return string(b)
}

// element is the first or last of a list or a string.
func element(first bool) func([]jinja.Value) (jinja.Value, error) {
	return func(args []jinja.Value) (jinja.Value, error) {
		switch v := args[0]; {
		case v.IsList() && v.AsList().Len() > 0 && first:
			return v.AsList().Get(0), nil
		case v.IsList() && v.AsList().Len() > 0:
			return v.AsList().Get(v.AsList().Len() - 1), nil
		case v.IsString() && v.AsString() != "":
			_, n := utf8.DecodeRuneInString(v.AsString())
			if first {
				return jinja.NewString(v.AsString()[:n]), nil
			}
			_, n = utf8.DecodeLastRuneInString(v.AsString())
			return jinja.NewString(v.AsString()[len(v.AsString())-n:]), nil
		case !v.IsList() && !v.IsString():
			return jinja.Undefined(), errArguments
		}
		return jinja.Undefined(), nil
	}
}

// integer reads a decimal number.
func integer(args []jinja.Value) (jinja.Value, error) {
	if len(args) == 1 && args[0].IsInt() {
		return args[0], nil
	}
	s, err := texts(args, 1, 1)
	if err != nil {
		return jinja.Undefined(), err
	}
	n, err := strconv.ParseInt(strings.TrimFunc(s[0], isSpace), 10, 64)
	return jinja.NewInt(n), err
}

// splitMethod is str.split: at white space, or at a separator, so many times at most.
func splitMethod(args []jinja.Value) (jinja.Value, error) {
	most := -1
	if len(args) == 3 && args[2].IsInt() {
		most, args = int(args[2].AsInt()), args[:2]
	}
	s, err := texts(args, 1, 2)
	if err != nil {
		return jinja.Undefined(), err
	}
	var parts []string
	switch {
	case len(s) == 2 && s[1] != "" && strings.Count(s[0], s[1]) > maxSteps, len(s) == 1 && len(s[0]) > 2*maxSteps:
		return jinja.Undefined(), fmt.Errorf("more than %d parts", maxSteps)
	case len(s) == 1:
		parts = strings.FieldsFunc(s[0], isSpace)
	case s[1] == "":
		return jinja.Undefined(), errors.New("an empty separator")
	case most < 0:
		parts = strings.Split(s[0], s[1])
	default:
		parts = strings.SplitN(s[0], s[1], most+1)
	}
	items := make([]jinja.Value, len(parts))
	for i, p := range parts {
		items[i] = jinja.NewString(p)
	}
	return jinja.NewList(items), nil
}

// affix is startswith and endswith, of one string or of several.
func affix(has func(s, part string) bool) func([]jinja.Value) (jinja.Value, error) {
	return func(args []jinja.Value) (jinja.Value, error) {
		parts := args[1:]
		if len(args) == 2 && args[1].IsList() {
			parts = args[1].AsList().Items
		} else if len(args) != 2 {
			return jinja.Undefined(), errArguments
		}
		s, err := texts(append([]jinja.Value{args[0]}, parts...), 1, 1+len(parts))
		if err != nil {
			return jinja.Undefined(), err
		}
		for _, part := range s[1:] {
			if has(s[0], part) {
				return jinja.NewBool(true), nil
			}
		}
		return jinja.NewBool(false), nil
	}
}

func replace(args []jinja.Value) (jinja.Value, error) {
	most := -1
	if len(args) == 4 && args[3].IsInt() {
		most, args = int(args[3].AsInt()), args[:3]
	}
	s, err := texts(args, 3, 3)
	if err != nil {
		return jinja.Undefined(), err
	}
	times := strings.Count(s[0], s[1])
	if most >= 0 {
		times = min(times, most)
	}
	if times > 0 && len(s[2]) > maxText/times {
		return jinja.Undefined(), fits(maxText + 1)
	}
	return jinja.NewString(strings.Replace(s[0], s[1], s[2], most)), nil
}

func remove(f func(s, part string) string) func([]jinja.Value) (jinja.Value, error) {
	return func(args []jinja.Value) (jinja.Value, error) {
		s, err := texts(args, 2, 2)
		if err != nil {
			return jinja.Undefined(), err
		}
		return jinja.NewString(f(s[0], s[1])), nil
	}
}
