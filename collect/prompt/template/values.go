package template

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// jsonEscapes are json.dumps' with ensure_ascii off.
var jsonEscapes = func() *strings.Replacer {
	pairs := []string{`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`, "\f", `\f`}
	for c := range 0x20 {
		if strings.IndexByte("\n\r\t\b\f", byte(c)) < 0 {
			pairs = append(pairs, string(rune(c)), fmt.Sprintf(`\u%04x`, c))
		}
	}
	return strings.NewReplacer(pairs...)
}()

// tojson writes strings. What lists and mappings look like depends on options
// that only tools use.
func tojson(args []jinja.Value) (jinja.Value, error) {
	s, err := texts(args, 1, 1)
	if err != nil {
		return jinja.Undefined(), errors.New("JSON of anything but a string")
	}
	return jinja.NewString(`"` + jsonEscapes.Replace(s[0]) + `"`), nil
}

// test is Jinja's "is": args are the value, the test's name, and its arguments.
func test(args []jinja.Value) (jinja.Value, error) {
	if len(args) < 2 {
		return jinja.Undefined(), errArguments
	}
	v, name, args := args[0], args[1].AsString(), args[2:]
	known := map[string]bool{
		"defined": !v.IsUndefined(), "undefined": v.IsUndefined(), "none": v.IsNone(),
		"string": v.IsString(), "mapping": v.IsDict(), "boolean": v.IsBool(), "callable": v.IsCallable(),
		"integer": v.IsInt(), "float": v.IsFloat(), "number": v.IsNumber() || v.IsBool(),
		"true": v.IsBool() && v.IsTruthy(), "false": v.IsBool() && !v.IsTruthy(),
		// An undefined value can be iterated over, and has a length.
		"iterable": v.IsString() || v.IsDict() || v.IsList() || v.IsUndefined(),
		"sequence": v.IsString() || v.IsDict() || v.IsList() || v.IsUndefined(),
	}
	if answer, ok := known[name]; ok && len(args) == 0 {
		return jinja.NewBool(answer), nil
	}
	if len(args) == 1 && v.IsString() && args[0].IsString() {
		switch name {
		case "eq", "equalto", "sameas":
			return jinja.NewBool(v.Equals(args[0])), nil
		case "ne":
			return jinja.NewBool(!v.Equals(args[0])), nil
		}
	}
	if len(args) == 0 && v.IsInt() && (name == "odd" || name == "even") {
		return jinja.NewBool((v.AsInt()%2 == 0) == (name == "even")), nil
	}
	return jinja.Undefined(), fmt.Errorf("%s", name)
}

// printed is a value as an expression's output.
func printed(args []jinja.Value) (jinja.Value, error) {
	if len(args) != 1 {
		return jinja.Undefined(), errArguments
	}
	switch v := args[0]; {
	case v.IsUndefined():
		return jinja.NewString(""), nil
	case v.IsNone():
		return jinja.NewString("None"), nil
	case v.IsString(), v.IsBool(), v.IsInt():
		return v, nil
	}
	return jinja.Undefined(), errors.New("output of a number with a fraction, a list or a mapping")
}

// strftime is Python's, in English, as far as chat templates use it.
func strftime(date time.Time, format string) (string, error) {
	layouts := map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon",
		'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		if i == len(format) {
			return "", fmt.Errorf("the date format %q", format)
		}
		layout, ok := layouts[format[i]]
		switch {
		case format[i] == '%':
			b.WriteByte('%')
		case ok:
			b.WriteString(date.Format(layout))
		default:
			return "", fmt.Errorf("the date format %q", format)
		}
	}
	return b.String(), nil
}
