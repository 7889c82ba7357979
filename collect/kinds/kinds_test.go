package kinds

import (
	"fmt"
	"strings"
	"testing"
)

// TestKinds: the five kinds and their limits are the specification's.
func TestKinds(t *testing.T) {
	texts, err := Texts(Names(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range texts {
		got = append(got, fmt.Sprintf("%s %d", k.Kind, k.Limit))
		if len(k.Text) < 200 || strings.TrimSpace(k.Text) != k.Text {
			t.Errorf("%s: %q", k.Kind, k.Text)
		}
	}
	if want := "code 512, tool_call 256, reasoning 384, long_gen 1024, context_fill 256"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestContextFill: the text grows with the size, to within a line of what was
// asked for, and no two lines of it are equal.
func TestContextFill(t *testing.T) {
	for _, n := range []int{256, 4096, MaxContext} {
		texts, err := Texts([]string{"context_fill"}, n)
		if err != nil {
			t.Fatal(err)
		}
		text := texts[0].Text
		if texts[0].About != int64(n) {
			t.Errorf("meant to be of %d tokens: %d", n, texts[0].About)
		}
		if over := float64(len(text)) - float64(n)*charsPerToken; over < 0 || over > 200 {
			t.Errorf("%d tokens: %d characters", n, len(text))
		}
		seen := map[string]bool{}
		for line := range strings.Lines(text) {
			if seen[line] && line != "\n" {
				t.Fatalf("%d tokens: twice: %s", n, line)
			}
			seen[line] = true
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, err := range map[string]error{
		"poetry": second(Texts([]string{"code", "poetry"}, 0)),
		"255":    second(Texts(Names(), 255)),
		"131073": second(Texts(Names(), MaxContext+1)),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
