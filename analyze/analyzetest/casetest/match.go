package casetest

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Matches holds a column (nil, a number, a text, a bool or a list of texts)
// against an expectation as the case files write it: null is NULL, a number is
// met to 1e-6, an object is one of
//
//	{"min", "max"}  inclusive           {"any_of": [..]}  one of several
//	{"not": x}      anything else       {"not_null": true}
//	{"contains": s} in a text           {"length": n} of a text, in code points
//	{"has": [..], "has_not": [..]}      in a list
func Matches(want json.RawMessage, got any) bool {
	var w any
	if json.Unmarshal(want, &w) != nil {
		return false
	}
	return meets(w, got)
}

func meets(want, got any) bool {
	switch w := want.(type) {
	case nil:
		return got == nil
	case float64:
		g, ok := number(got)
		return ok && math.Abs(g-w) <= 1e-6*max(1, math.Abs(w))
	case string, bool:
		return got == w
	case map[string]any:
		return meetsForm(w, got)
	}
	return false
}

func number(x any) (float64, bool) {
	switch x := x.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	}
	return 0, false
}

func meetsForm(w map[string]any, got any) bool {
	if all, ok := w["any_of"].([]any); ok {
		return slices.ContainsFunc(all, func(one any) bool { return meets(one, got) })
	}
	if unwanted, ok := w["not"]; ok {
		return !meets(unwanted, got)
	}
	if w["not_null"] == true {
		return got != nil
	}
	if part, ok := w["contains"].(string); ok {
		s, ok := got.(string)
		return ok && strings.Contains(s, part)
	}
	if n, ok := w["length"].(float64); ok {
		s, ok := got.(string)
		return ok && utf8.RuneCountInString(s) == int(n)
	}
	if w["min"] != nil || w["max"] != nil {
		return within(w, got)
	}
	return contains(w, got)
}

func within(w map[string]any, got any) bool {
	g, ok := number(got)
	if lo, has := w["min"].(float64); ok && has {
		ok = g >= lo
	}
	if hi, has := w["max"].(float64); ok && has {
		ok = g <= hi
	}
	return ok
}

func contains(w map[string]any, got any) bool {
	list, ok := got.([]string)
	if !ok || w["has"] == nil && w["has_not"] == nil {
		return false
	}
	for _, f := range texts(w["has"]) {
		if !slices.Contains(list, f) {
			return false
		}
	}
	for _, f := range texts(w["has_not"]) {
		if slices.Contains(list, f) {
			return false
		}
	}
	return true
}

func texts(x any) []string {
	var out []string
	all, _ := x.([]any) // absent: none
	for _, one := range all {
		s, _ := one.(string)
		out = append(out, s)
	}
	return out
}
