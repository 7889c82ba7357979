package template

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ardanlabs/jinja"
)

// operate is a binary operator as Python has it: args are its sign and two
// operands, or more of which it takes in turn.
func (m *meter) operate(args []jinja.Value) (jinja.Value, error) {
	if len(args) < 3 {
		return jinja.Undefined(), errArguments
	}
	op := args[0].AsString()
	if op == "~" {
		return joined(args[1:])
	}
	v := args[1]
	for _, next := range args[2:] {
		var err error
		if v, err = m.binary(op, v, next); err != nil {
			return jinja.Undefined(), fmt.Errorf("%s: %w", op, err)
		}
	}
	return v, nil
}

var errOperands = errors.New("operands that it does not have in Jinja, or not here")

func (m *meter) binary(op string, a, b jinja.Value) (jinja.Value, error) {
	if err := m.spend(1, 0); err != nil {
		return jinja.Undefined(), err
	}
	switch op {
	case "==", "!=":
		same, err := m.equal(a, b)
		return jinja.NewBool(same == (op == "==")), err
	case "in", "not in":
		has, err := m.contains(b, a)
		return jinja.NewBool(has == (op == "in")), err
	case "<", ">", "<=", ">=":
		return compared(op, a, b)
	}
	switch {
	case op == "+" && a.IsString() && b.IsString():
		return joined([]jinja.Value{a, b})
	case op == "+" && a.IsList() && b.IsList():
		all := append(append([]jinja.Value(nil), a.AsList().Items...), b.AsList().Items...)
		return jinja.NewList(all), m.spend(len(all), 0)
	case op == "*" && b.IsString():
		a, b = b, a
		fallthrough
	case op == "*" && a.IsString() && b.IsInt():
		return m.repeated(a, b)
	}
	if isNumber(a) && isNumber(b) {
		return calculated(op, a, b)
	}
	return jinja.Undefined(), errOperands
}

// joined is a text of scalars.
func joined(args []jinja.Value) (jinja.Value, error) {
	parts, length := make([]string, len(args)), 0
	for i, a := range args {
		v, err := printed([]jinja.Value{a})
		if err != nil {
			return jinja.Undefined(), err
		}
		parts[i] = text(v)
		length += len(parts[i])
	}
	if err := fits(length); err != nil {
		return jinja.Undefined(), err
	}
	return jinja.NewString(strings.Join(parts, "")), nil
}

// text is a scalar as Python writes it.
func text(v jinja.Value) string {
	switch {
	case v.IsString():
		return v.AsString()
	case v.IsInt():
		return strconv.FormatInt(v.AsInt(), 10)
	case v.IsBool() && v.AsBool():
		return "True"
	case v.IsBool():
		return "False"
	}
	return ""
}

func (m *meter) repeated(s, n jinja.Value) (jinja.Value, error) {
	if !s.IsString() || !n.IsInt() {
		return jinja.Undefined(), errOperands
	}
	length, times := len(s.AsString()), max(0, n.AsInt())
	if length > 0 && times > int64(maxText/length) {
		return jinja.Undefined(), fits(maxText + 1)
	}
	if length == 0 {
		times = 0
	}
	return jinja.NewString(strings.Repeat(s.AsString(), int(times))), m.spend(1, int64(length)*times)
}

func isNumber(v jinja.Value) bool { return v.IsNumber() || v.IsBool() }

func number(v jinja.Value) float64 {
	switch {
	case v.IsFloat():
		return v.AsFloat()
	case v.IsInt():
		return float64(v.AsInt())
	case v.IsTruthy():
		return 1
	}
	return 0
}

// calculated is of numbers. Whole ones stay whole but for division, and may
// not be as large as only Python's can be.
func calculated(op string, a, b jinja.Value) (jinja.Value, error) {
	x, y := number(a), number(b)
	var z float64
	switch {
	case op == "+":
		z = x + y
	case op == "-":
		z = x - y
	case op == "*":
		z = x * y
	case y != 0 && op == "/":
		return jinja.NewFloat(x / y), nil
	case y != 0 && op == "//":
		z = math.Floor(x / y)
	case y != 0 && op == "%":
		z = x - y*math.Floor(x/y)
	default:
		return jinja.Undefined(), errOperands
	}
	switch {
	case a.IsFloat() || b.IsFloat():
		return jinja.NewFloat(z), nil
	case math.Abs(x) >= 1<<53, math.Abs(y) >= 1<<53, math.Abs(z) >= 1<<53:
		return jinja.Undefined(), errors.New("numbers beyond 2^53")
	}
	return jinja.NewInt(int64(z)), nil
}

func compared(op string, a, b jinja.Value) (jinja.Value, error) {
	order := 0
	switch {
	case isNumber(a) && isNumber(b):
		x, y := number(a), number(b)
		if x < y {
			order = -1
		} else if x > y {
			order = 1
		}
	case a.IsString() && b.IsString():
		order = strings.Compare(a.AsString(), b.AsString())
	default:
		return jinja.Undefined(), errOperands
	}
	return jinja.NewBool(order < 0 && op[0] == '<' || order > 0 && op[0] == '>' || order == 0 && len(op) == 2), nil
}

func (m *meter) equal(a, b jinja.Value) (bool, error) {
	if isNumber(a) && isNumber(b) {
		return number(a) == number(b), nil
	}
	if a.IsList() && b.IsList() || a.IsDict() && b.IsDict() {
		if err := m.readAll(a, 0); err != nil {
			return false, err
		}
	}
	return a.Equals(b), nil
}

// contains is Python's "in".
func (m *meter) contains(all, one jinja.Value) (bool, error) {
	switch {
	case all.IsUndefined():
		return false, nil
	case all.IsString() && one.IsString():
		return strings.Contains(all.AsString(), one.AsString()), nil
	case all.IsDict() && one.IsString():
		return all.AsDict().Has(one.AsString()), nil
	case all.IsDict() && one.IsUndefined(), all.IsDict() && one.IsNone():
		return false, nil
	case !all.IsList():
		return false, errOperands
	}
	for _, item := range all.AsList().Items {
		if err := m.read([]jinja.Value{item}); err != nil {
			return false, err
		}
		if same, err := m.equal(item, one); same || err != nil {
			return same, err
		}
	}
	return false, nil
}
