package openai

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"tokwatt/collect"
)

// inPieces plays a text that comes in pieces, each the inside of a JSON string,
// and returns what was shown and how many code points were counted.
func inPieces(t *testing.T, field string, parts ...string) (shown string, chars int64) {
	t.Helper()
	a := &answer{streamed: true, tokens: 1 << 20}
	arrivals := 0
	a.emit = func(x collect.Arrival) bool {
		shown += x.Text
		chars += int64(utf8.RuneCountInString(x.Text)) + x.Hidden
		if x.Kind.Output() {
			arrivals++
		}
		return true
	}
	for _, p := range parts {
		if err := a.event(event{data: []byte(`{"choices":[{"delta":{` + fmt.Sprintf(field, p) + `}}]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if arrivals != len(parts) {
		t.Errorf("%d events gave %d outputs", len(parts), arrivals)
	}
	return shown, chars + a.last().Hidden
}

// TestCutCharacters: wherever a server cuts its text, in bytes of UTF-8 or in
// escaped halves of a pair, its code points are counted right and shown whole.
func TestCutCharacters(t *testing.T) {
	const whole = "aé中😀👍🏽z👩\u200d👩\u200d👧é"
	want := int64(utf8.RuneCountInString(whole))
	var escaped []string
	for _, u := range utf16.Encode([]rune(whole)) {
		escaped = append(escaped, fmt.Sprintf(`\u%04x`, u))
	}
	var bytewise []string
	for i := range len(whole) {
		bytewise = append(bytewise, whole[i:i+1])
	}
	for _, field := range []string{`"content":"%s"`, `"reasoning":"%s"`, `"tool_calls":[{"function":{"arguments":"%s"}}]`, `"content":[{"type":"text","text":"%s"}]`, `"refusal":"%s"`} {
		for name, units := range map[string][]string{"escaped": escaped, "bytes": bytewise} {
			if got, n := inPieces(t, field, units...); got != whole || n != want {
				t.Errorf("%s, one by one in %s: %q, %d", name, field, got, n)
			}
			for cut := 1; cut < len(units); cut++ {
				got, n := inPieces(t, field, strings.Join(units[:cut], ""), strings.Join(units[cut:], ""))
				if got != whole || n != want {
					t.Errorf("%s, cut at %d in %s: %q, %d", name, cut, field, got, n)
				}
			}
		}
	}
}

// TestHalvesThatNeverMeet: each counts as one code point.
func TestHalvesThatNeverMeet(t *testing.T) {
	for _, c := range []struct {
		parts []string
		shown string
		chars int64
	}{
		{[]string{`a\ud83d`}, "a", 2},
		{[]string{`a\ud83d`, `b`}, "a\ufffdb", 3},
		{[]string{`\ude00`, `b`}, "\ufffdb", 2},
		{[]string{`\ud83d`, `\ud83d`, `\ude00`}, "\ufffd😀", 2},
		{[]string{"a\xc3"}, "a", 2},
		{[]string{"a\xc3", "b"}, "a\ufffdb", 3},
		{[]string{"\x80", "b"}, "\ufffdb", 2},
		{[]string{"\xff\xfe"}, "\ufffd\ufffd", 2}, // no beginning of anything
	} {
		if got, n := inPieces(t, `"content":"%s"`, c.parts...); got != c.shown || n != c.chars {
			t.Errorf("%q: %q, %d", c.parts, got, n)
		}
	}
}

// TestChannelsApart: half a character of the reasoning is not joined to the
// text that comes between.
func TestChannelsApart(t *testing.T) {
	got, _, err := play(t, delta(`"content":"\ud83d"`), delta(`"reasoning":"r"`), delta(`"content":"\ude00"`), finished, endMark)
	if got != "content reasoning:r content:😀 role" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
