package analyze

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"ttft_ms", "ttft_client_ms", "generation_tps", "pp", "tg", "engine", "use-prefix-cache", ""}
	for typed, want := range map[string]string{
		"ttft_ms":          "ttft_ms",
		"ttft":             "ttft_ms",        // the shorter of two that begin so
		"ttft_c":           "ttft_client_ms", // begins so
		"tftt_ms":          "ttft_ms",        // swapped neighbours are one fault
		"Generation TPS":   "generation_tps",
		"PP":               "pp",
		"ppp":              "pp",
		"use_prefix_cache": "use-prefix-cache",
		"engnie":           "engine",
		"enigen":           "engine", // two faults in six letters
		"anigen":           "",       // three
		"foo":              "",
		"p":                "", // one letter says nothing
		"qp":               "",
		"metric":           "",
		"":                 "",
	} {
		if got := Nearest(typed, known); got != want {
			t.Errorf("%q is near to %q, want %q", typed, got, want)
		}
	}
}

// TestMending: known distances, either way round.
func TestMending(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"saturday", "sunday", 3},
		{"ab", "ba", 1}, {"ca", "abc", 3}, {"médian", "median", 1},
	} {
		if got, back := mending([]rune(c.a), []rune(c.b)), mending([]rune(c.b), []rune(c.a)); got != c.want || back != c.want {
			t.Errorf("%q to %q: %d, back %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
