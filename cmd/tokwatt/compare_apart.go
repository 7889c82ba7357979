package main

import (
	"slices"

	"tokwatt/analyze"
)

// with is the argument for a selection that meets further conditions.
func (s selection) with(by analyze.Conditions) string {
	text := s.text
	for _, c := range by {
		text += "," + c.String()
	}
	return text
}

// mostInCommon are the conditions, of the keys that keep the sides apart, under
// which they have the most requests in common: the values of a row of each, taken
// from the rows that there are, so that no condition is one that nothing meets.
func mostInCommon(sides [2]analyze.Selected, apart []analyze.KeyValues) [2]analyze.Conditions {
	first := [2][]analyze.Conditions{waysOf(sides[0].Rows, apart), waysOf(sides[1].Rows, apart)}
	best, most := [2]analyze.Conditions{first[0][0], first[1][0]}, -1
	for _, a := range first[0] {
		for _, b := range first[1] {
			if n := inCommon(sides, a, b); n > most {
				best, most = [2]analyze.Conditions{a, b}, n
			}
		}
	}
	return best
}

// waysOf are the combinations of values that rows have of some keys, in the
// order of the rows.
func waysOf(rows []analyze.Summary, keys []analyze.KeyValues) (out []analyze.Conditions) {
	for _, r := range rows {
		var by analyze.Conditions
		for _, k := range keys {
			by = append(by, analyze.Condition{Key: k.Key, Value: r.Keys[k.Key]})
		}
		if !slices.ContainsFunc(out, func(other analyze.Conditions) bool { return slices.Equal(by, other) }) {
			out = append(out, by)
		}
	}
	return out
}

// inCommon counts the requests, on the side with fewer, of the cases that two
// selections have in common once each is narrowed.
func inCommon(sides [2]analyze.Selected, a, b analyze.Conditions) int {
	narrowed := func(side analyze.Selected, by analyze.Conditions) analyze.Selected {
		out := analyze.Selected{By: slices.Concat(side.By, by)}
		for _, r := range side.Rows {
			if by.Match(&r) {
				out.Rows = append(out.Rows, r)
			}
		}
		return out
	}
	set, err := analyze.Compare(narrowed(sides[0], a), narrowed(sides[1], b), nil)
	if err != nil {
		return 0
	}
	rowsA, rowsB := set.Matched()
	return int(min(requests(rowsA), requests(rowsB)))
}

func requests(rows []analyze.Summary) (n int64) {
	for _, r := range rows {
		n += r.NOK
	}
	return n
}
