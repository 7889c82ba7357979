package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ardanlabs/jinja"
)

// A listing is a filter or method that looks into lists and mappings. args[0]
// is what it is applied to; named are those that are given by name.
type listing func(m *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error)

// listings are by the names that templates use; which are filters and which
// methods the two lists below say.
var listings = map[string]listing{
	"default": defaulted, "d": defaulted,
	"length": length, "count": length,
	"list": listed, "string": asText, "safe": asText,
	"join": join, "map": mapped,
	"select": selected(true, false), "reject": selected(false, false),
	"selectattr": selected(true, true), "rejectattr": selected(false, true),
	"items": pairs, "keys": keys, "values": values, "get": get,
	"append": appended, "insert": inserted, "pop": popped, "update": updated,
	"cycle": called("cycle"), "next": called("next"),
}

var (
	listFilters = words("default d length count list join map select reject selectattr rejectattr string safe items")
	listMethods = words("items keys values get append pop insert update cycle next")
)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// unnamed refuses named arguments, and another number of the others.
func unnamed(args []jinja.Value, named map[string]jinja.Value, atLeast, atMost int) error {
	if len(named) > 0 || len(args) < atLeast || len(args) > atMost {
		return errors.New("arguments of another number or kind")
	}
	return nil
}

func defaulted(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	falsy, given := named["boolean"]
	if given && len(named) == 1 {
		named = nil
	} else if len(args) == 3 {
		falsy, args = args[2], args[:2]
	}
	if err := unnamed(args, named, 1, 2); err != nil {
		return jinja.Undefined(), err
	}
	switch {
	case !args[0].IsUndefined() && (!falsy.IsTruthy() || args[0].IsTruthy()):
		return args[0], nil
	case len(args) == 2:
		return args[1], nil
	}
	return jinja.NewString(""), nil
}

func length(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	n := 0
	switch v := args[0]; {
	case unnamed(args, named, 1, 1) != nil:
		return jinja.Undefined(), errArguments
	case v.IsList():
		n = v.AsList().Len()
	case v.IsDict():
		n = v.AsDict().Len()
	case v.IsString():
		n = utf8.RuneCountInString(v.AsString())
	case !v.IsUndefined():
		return jinja.Undefined(), errors.New("of what has none")
	}
	return jinja.NewInt(int64(n)), nil
}

// items are what a loop over v runs over.
func (m *meter) items(v jinja.Value) ([]jinja.Value, error) {
	switch {
	case v.IsUndefined():
		return nil, nil
	case v.IsList():
		return v.AsList().Items, m.spend(v.AsList().Len(), 0)
	case v.IsDict():
		var out []jinja.Value
		for _, key := range v.AsDict().Keys {
			out = append(out, jinja.NewString(key))
		}
		return out, m.spend(len(out), 0)
	case v.IsString():
		if err := m.spend(utf8.RuneCountInString(v.AsString()), 0); err != nil {
			return nil, err
		}
		var out []jinja.Value
		for _, r := range v.AsString() {
			out = append(out, jinja.NewString(string(r)))
		}
		return out, nil
	}
	return nil, errors.New("items of what has none")
}

func listed(m *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := unnamed(args, named, 1, 1); err != nil {
		return jinja.Undefined(), err
	}
	all, err := m.items(args[0])
	return jinja.NewList(slices.Clone(all)), err
}

// asText is "string", and "safe", which is nothing where nothing is escaped.
func asText(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := unnamed(args, named, 1, 1); err != nil {
		return jinja.Undefined(), err
	}
	return joined(args)
}

func join(m *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := unnamed(args, named, 1, 2); err != nil {
		return jinja.Undefined(), err
	}
	all, err := m.items(args[0])
	if err != nil {
		return jinja.Undefined(), err
	}
	between := jinja.NewString("")
	if len(args) == 2 {
		between = args[1]
	}
	var parts []jinja.Value
	for i, item := range all {
		if i > 0 {
			parts = append(parts, between)
		}
		parts = append(parts, item)
	}
	if err := m.read(parts); err != nil {
		return jinja.Undefined(), err
	}
	return joined(parts)
}

func mapped(m *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	name, ok := named["attribute"]
	if !ok || !name.IsString() || len(named) != 1 || len(args) != 1 {
		return jinja.Undefined(), errors.New("by anything but an attribute")
	}
	all, err := m.items(args[0])
	out := make([]jinja.Value, len(all))
	for i, item := range all {
		out[i] = attribute(item, name.AsString())
	}
	return jinja.NewList(out), err
}

func attribute(v jinja.Value, name string) jinja.Value {
	if v.IsDict() {
		if a, ok := v.AsDict().Get(name); ok {
			return a
		}
	}
	return jinja.Undefined()
}

// selected keeps the items, of which the attribute that is the first argument,
// that are true or pass a test, or those that don't.
func selected(wanted, byAttribute bool) listing {
	return func(m *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
		all, err := m.items(args[0])
		if err != nil || len(named) > 0 {
			return jinja.Undefined(), errors.Join(err, unnamed(nil, named, 0, 0))
		}
		args, name := args[1:], ""
		if byAttribute {
			if len(args) == 0 || !args[0].IsString() {
				return jinja.Undefined(), errArguments
			}
			name, args = args[0].AsString(), args[1:]
		}
		var out []jinja.Value
		for _, item := range all {
			v := item
			if byAttribute {
				v = attribute(item, name)
			}
			passes := v.IsTruthy()
			if len(args) > 0 {
				answer, err := test(append([]jinja.Value{v}, args...))
				if err != nil {
					return jinja.Undefined(), err
				}
				passes = answer.IsTruthy()
			}
			if passes == wanted {
				out = append(out, item)
			}
		}
		return jinja.NewList(out), nil
	}
}

func appended(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := unnamed(args, named, 2, 2); err != nil || !args[0].IsList() {
		return jinja.Undefined(), errArguments
	}
	args[0].AsList().Append(args[1])
	return jinja.None(), nil
}

func inserted(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := unnamed(args, named, 3, 3); err != nil || !args[0].IsList() || !args[1].IsInt() {
		return jinja.Undefined(), errArguments
	}
	list := args[0].AsList()
	at := args[1].AsInt()
	if at < 0 {
		at += int64(list.Len())
	}
	at = min(max(at, 0), int64(list.Len()))
	list.Items = slices.Insert(slices.Clone(list.Items), int(at), args[2])
	return jinja.None(), nil
}

func poppedItem(list *jinja.List, where []jinja.Value) (jinja.Value, error) {
	at := int64(list.Len() - 1)
	if len(where) == 1 {
		if !where[0].IsInt() {
			return jinja.Undefined(), errArguments
		}
		if at = where[0].AsInt(); at < 0 {
			at += int64(list.Len())
		}
	}
	if at < 0 || at >= int64(list.Len()) {
		return jinja.Undefined(), errors.New("of an item that is not there")
	}
	v := list.Items[at]
	list.Items = slices.Delete(slices.Clone(list.Items), int(at), int(at)+1)
	return v, nil
}

// called calls what the interpreter has put into a mapping of its own, of a
// loop or a cycler, under this name.
func called(name string) listing {
	return func(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
		f := attribute(args[0], name)
		if len(named) > 0 || !f.IsCallable() {
			return jinja.Undefined(), errors.New("of what has none")
		}
		return f.AsCallable().Fn(args[1:], nil)
	}
}

// ranged is range, of which the list is made at once.
func (m *meter) ranged(args []jinja.Value) (jinja.Value, error) {
	bounds := []int64{0, 0, 1}
	for i, a := range args {
		if len(args) > 3 || !a.IsInt() || a.AsInt() > 1<<40 || a.AsInt() < -1<<40 {
			return jinja.Undefined(), errArguments
		}
		bounds[i] = a.AsInt()
	}
	switch len(args) {
	case 0:
		return jinja.Undefined(), errArguments
	case 1:
		bounds[0], bounds[1] = 0, bounds[0]
	}
	from, to, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return jinja.Undefined(), errArguments
	}
	n := max(0, (to-from+step-sign(step))/step)
	if err := m.spend(int(min(n, maxSteps+1)), 0); err != nil {
		return jinja.Undefined(), fmt.Errorf("a list of %d: %w", n, err)
	}
	out := make([]jinja.Value, n)
	for i := range out {
		out[i] = jinja.NewInt(from + int64(i)*step)
	}
	return jinja.NewList(out), nil
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// joiner makes a function that says nothing the first time.
func joiner(args []jinja.Value) (jinja.Value, error) {
	between := jinja.NewString(", ")
	if len(args) == 1 && args[0].IsString() {
		between = args[0]
	} else if len(args) > 0 {
		return jinja.Undefined(), errArguments
	}
	used := false
	return jinja.NewCallable("joiner", func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
		if !used {
			used = true
			return jinja.NewString(""), nil
		}
		return between, nil
	}), nil
}
