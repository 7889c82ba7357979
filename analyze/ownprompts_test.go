package analyze

import (
	"slices"
	"testing"
)

func TestOwnPrompts(t *testing.T) {
	pp := int64(8)
	row := func(id int64, kind, text string) *Summary {
		return &Summary{CaseID: id, PromptKind: kind, Keys: map[string]string{"prompt_hash": text}}
	}
	sized := row(1, "sized", "")
	sized.PP = &pp
	for _, c := range []struct {
		name string
		rows []*Summary
		want []string
	}{
		{"one text", []*Summary{row(1, "own", "aa"), row(2, "own", "aa")}, []string{"own", "own"}},
		{"two texts", []*Summary{row(1, "own", "aa"), row(2, "own", "bb")}, []string{"own #1", "own #2"}},
		{"two texts at two concurrencies", []*Summary{row(4, "own", "bb"), row(1, "own", "aa"), row(2, "own", "aa"), row(3, "own", "bb")}, []string{"own #3", "own #1", "own #1", "own #3"}},
		{"two sessions' first", []*Summary{row(1, "own", "0123456789"), row(1, "own", "bb")}, []string{"own 01234567", "own bb"}},
		{"an unknown text", []*Summary{row(1, "own", ""), row(2, "own", "bb")}, []string{"own", "own #2"}},
		{"unknown texts", []*Summary{row(1, "own", ""), row(2, "", "")}, []string{"own", "own"}},
		{"no own prompt", []*Summary{sized, row(2, "code", "cc"), row(3, "none", "")}, []string{"", "", ""}},
	} {
		names := OwnPrompts(c.rows)
		var got []string
		for _, r := range c.rows {
			got = append(got, names[r])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
