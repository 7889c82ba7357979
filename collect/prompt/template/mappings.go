package template

import (
	"errors"
	"slices"

	"github.com/ardanlabs/jinja"
)

func pairs(m *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if args[0].IsUndefined() {
		return jinja.NewList(nil), nil
	}
	var out []jinja.Value
	err := eachOf(args, named, func(key string, v jinja.Value) {
		out = append(out, jinja.NewList([]jinja.Value{jinja.NewString(key), v}))
	})
	return jinja.NewList(out), err
}

func keys(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	var out []jinja.Value
	err := eachOf(args, named, func(key string, _ jinja.Value) { out = append(out, jinja.NewString(key)) })
	return jinja.NewList(out), err
}

func values(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	var out []jinja.Value
	err := eachOf(args, named, func(_ string, v jinja.Value) { out = append(out, v) })
	return jinja.NewList(out), err
}

func eachOf(args []jinja.Value, named map[string]jinja.Value, do func(string, jinja.Value)) error {
	if err := unnamed(args, named, 1, 1); err != nil || !args[0].IsDict() {
		return errors.Join(err, errors.New("of what is no mapping"))
	}
	for _, key := range args[0].AsDict().Keys {
		do(key, args[0].AsDict().Data[key])
	}
	return nil
}

func get(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := unnamed(args, named, 2, 3); err != nil || !args[0].IsDict() || !args[1].IsString() {
		return jinja.Undefined(), errArguments
	}
	if v, ok := args[0].AsDict().Get(args[1].AsString()); ok {
		return v, nil
	}
	if len(args) == 3 {
		return args[2], nil
	}
	return jinja.None(), nil
}

func popped(_ *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	switch err := unnamed(args, named, 1, 3); {
	case err == nil && args[0].IsList() && len(args) < 3:
		return poppedItem(args[0].AsList(), args[1:])
	case err == nil && args[0].IsDict() && len(args) > 1 && args[1].IsString():
		d, key := args[0].AsDict(), args[1].AsString()
		if v, ok := d.Get(key); ok {
			delete(d.Data, key)
			d.Keys = slices.DeleteFunc(slices.Clone(d.Keys), func(k string) bool { return k == key })
			return v, nil
		}
		if len(args) == 3 {
			return args[2], nil
		}
	}
	return jinja.Undefined(), errArguments
}

func updated(m *meter, args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := unnamed(args, named, 2, 2); err != nil || !args[0].IsDict() || !args[1].IsDict() {
		return jinja.Undefined(), errArguments
	}
	to, from := args[0].AsDict(), args[1].AsDict()
	for _, key := range slices.Clone(from.Keys) {
		to.Set(key, from.Data[key])
	}
	return jinja.None(), nil
}
