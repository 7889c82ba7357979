package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tokwatt/collect"
)

// writeAverages prints what an imported file says of the run as a whole, where
// it has no single request: then there is no other figure.
func writeAverages(w io.Writer, s *collect.Session, requests int64) {
	if s.Imported == nil || s.Imported.Extra == "" || requests > 0 {
		return
	}
	dec := json.NewDecoder(strings.NewReader(s.Imported.Extra))
	dec.UseNumber()
	var extra any
	if err := dec.Decode(&extra); err != nil {
		fmt.Fprintln(w, s.Imported.Extra) // no JSON: as it is
		return
	}
	fmt.Fprintln(w)
	t := newTable(w, "of the run as a whole, by "+s.Imported.Tool, "")
	rightAligned(t, 2)
	const room = 40
	each("", extra, func(name, text string) { t.AppendRow([]any{name, clip(text, room)}) })
	t.Render()
}

// each hands on the members of a value, "a.b" for those within others; a list
// is one text.
func each(name string, v any, do func(name, text string)) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			each(strings.TrimPrefix(name+"."+key, "."), v[key], do)
		}
	case []any:
		text, _ := json.Marshal(v) // of what was JSON
		do(name, string(text))
	default:
		do(name, fmt.Sprint(v))
	}
}
