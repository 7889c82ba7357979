package template

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ardanlabs/jinja"
)

// functions are what a template can call, all of which m bounds. The
// interpreter's own that are left, namespace, dict and cycler, copy what they
// are given.
func (t *Template) functions(m *meter) map[string]jinja.Value {
	out := map[string]jinja.Value{}
	list := func(name, shown string, call listing) {
		out[name] = jinja.NewCallable(name, func(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
			err := m.read(args)
			if err != nil {
				return jinja.Undefined(), err
			}
			v, err := call(m, args, named)
			if err == nil {
				err = m.read([]jinja.Value{v})
			}
			var refused *RefusedError
			if err != nil && m.err == nil && !errors.As(err, &refused) {
				err = &UnsupportedError{What: clip(fmt.Sprintf("%s: %v", shown, err))}
			}
			return v, err
		})
	}
	add := func(name, shown string, call func([]jinja.Value) (jinja.Value, error)) {
		list(name, shown, func(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
			if len(named) > 0 {
				return jinja.Undefined(), errors.New("with named arguments")
			}
			return call(args)
		})
	}
	for _, table := range []map[string]function{filters, methods} {
		for shown, f := range table {
			add(ours+f.name, shown, f.call)
		}
	}
	for name, f := range listings {
		list(ours+name, name, f)
	}
	for name := range t.lacks {
		add(missing+name, name, func([]jinja.Value) (jinja.Value, error) { return jinja.Undefined(), errors.New("not known") })
	}
	add(printer, "an expression", printed)
	add(tester, "a test", test)
	add(antitester, "a test", func(args []jinja.Value) (jinja.Value, error) {
		v, err := test(args)
		return jinja.NewBool(!v.IsTruthy()), err
	})
	add("raise_exception", "raise_exception", raise)
	add("strftime_now", "strftime_now", t.now)
	add("range", "range", m.ranged)
	add("joiner", "joiner", joiner)
	m.hooks(add)
	return out
}

// hooks are the calls by which the meter learns how far a rendering is.
func (m *meter) hooks(add func(name, shown string, call func([]jinja.Value) (jinja.Value, error))) {
	add(operation, "an operator", m.operate)
	add(callee, "a call", callable)
	add(part, "a part", func(args []jinja.Value) (jinja.Value, error) { return args[0], nil })
	add(key, "a key", plainKey)
	add(limit, "a slice", m.limited)
	add(condit, "a condition", func(args []jinja.Value) (jinja.Value, error) { return jinja.NewBool(args[0].IsTruthy()), nil })
	add(each, "a loop", func(args []jinja.Value) (jinja.Value, error) {
		all, err := m.items(args[0])
		return jinja.NewList(all), err
	})
	nothing := jinja.NewString("")
	add(turn, "a loop", func([]jinja.Value) (jinja.Value, error) { return nothing, nil })
	add(enter, "a macro", func([]jinja.Value) (jinja.Value, error) { return nothing, m.enter() })
	add(leave, "a macro", func([]jinja.Value) (jinja.Value, error) {
		m.depth--
		return nothing, nil
	})
}

// callable is what is called, by the name args[1]. The interpreter's own
// methods are not: we have our own.
func callable(args []jinja.Value) (jinja.Value, error) {
	if !args[0].IsCallable() || strings.Contains(args[0].AsCallable().Name, ".") {
		return jinja.Undefined(), fmt.Errorf("of %s, which is no function", args[1].AsString())
	}
	return args[0], nil
}

// plainKey is what is looked up by: the interpreter prints it first.
func plainKey(args []jinja.Value) (jinja.Value, error) {
	if v := args[0]; !v.IsString() && !v.IsInt() && !v.IsBool() {
		return jinja.Undefined(), errors.New("that is neither a string nor a whole number")
	}
	return args[0], nil
}

// limited is a bound of a slice, up to which the interpreter counts. It takes
// an error for 0, so that one must stay with the meter.
func (m *meter) limited(args []jinja.Value) (jinja.Value, error) {
	if !args[0].IsInt() && m.err == nil {
		m.err = errors.New("a slice with a bound that is no whole number")
	}
	if m.err != nil {
		return jinja.Undefined(), m.err
	}
	return jinja.NewInt(min(max(args[0].AsInt(), -maxText), maxText)), nil
}

// now is strftime_now.
func (t *Template) now(args []jinja.Value) (jinja.Value, error) {
	format, err := texts(args, 1, 1)
	if err != nil {
		return jinja.Undefined(), err
	}
	s, err := strftime(t.date, format[0])
	return jinja.NewString(s), err
}

func raise(args []jinja.Value) (jinja.Value, error) {
	s, err := texts(args, 1, 1)
	if err != nil {
		return jinja.Undefined(), err
	}
	return jinja.Undefined(), &RefusedError{Message: s[0]}
}
