package wire

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzText: what is read of a string is what encoding/json reads.
func FuzzText(f *testing.F) {
	for _, s := range []string{`"a\"\\\/\b\f\n\r\tz"`, `"\ud83d\ude00\u00e9"`, `"\ud83d"`, `"\ude00\ud83dx"`, `null`, `7`, `"é"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var want any
		if !utf8.Valid(in) || json.Unmarshal(in, &want) != nil {
			return
		}
		var got Text
		if err := json.Unmarshal(in, &got); err != nil {
			t.Fatal(err)
		}
		s, isString := want.(string)
		if isString && mended(got.S) != s || !isString && got.S != "" || (want == nil || isString) != (got.Odd == nil) {
			t.Errorf("%q gives %q and %q, want %q", in, got.S, got.Odd, s)
		}
		var j Joiner
		if whole := j.Add(got.S); !utf8.ValidString(whole) || len(j.held) > 3 || int64(utf8.RuneCountInString(whole))+j.Rest() != int64(utf8.RuneCountInString(s)) {
			t.Errorf("%q joins to %q and %q", in, whole, j.held)
		}
	})
}
