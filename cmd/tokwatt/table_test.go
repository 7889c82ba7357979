package main

import (
	"math"
	"strings"
	"testing"
)

// TestTablesFitAScreen holds that what is meant for a screen has no line of
// over 80 columns, with engines, sizes and hits of many kinds.
func TestTablesFitAScreen(t *testing.T) {
	db := fixture(t)
	needsSQL(t)
	for _, args := range [][]string{
		{"list"}, {"show"}, {"show", "019bc119-0100"}, {"summary"}, {"summary", "019bc119-0100"}, {"metrics"},
		{"check"}, {"status"}, {"version"}, {"engines", "--shapes"},
	} {
		got := tokwatt(t, "", append(args, "--db", db)...)
		if got.code != 0 {
			t.Errorf("%v: exit %d: %s", args, got.code, got.err)
		}
		for _, l := range strings.Split(got.out, "\n") {
			if n := len([]rune(l)); n > 80 {
				t.Errorf("%v: a line of %d columns: %s", args, n, l)
			}
			if strings.HasSuffix(l, " ") {
				t.Errorf("%v: blanks at the end of: %q", args, l)
			}
		}
	}
}

func TestFiguresAreReadable(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.00123: "0.00123", 0.5: "0.500", 1: "1.00", 12.345: "12.3", 123.45: "123", 1234.5: "1234", 99999: "99999", 9.999: "10.0", 99.99: "100", 100: "100", 999.9: "1000",
	} {
		if got := sig(x); got != want {
			t.Errorf("sig(%g) = %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{
		20.2552555: "20.26", 2604.48: "2604", 0.1: "0.1000", 512: "512", -0.25: "-0.2500", 1732953.75: "1732954", 12345678901: "12345678901",
		9.99999: "10.00", 0: "0", 0.00012345678: "0.0001235", 1e-9: "1e-09", 1e300: "1e+300", math.Inf(1): "+Inf",
	} {
		if got := short(x); got != want {
			t.Errorf("short(%g) = %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.0346: "0.035", 1.25: "1.2", 12.6: "13", 201: "201"} {
		if got := deviation(x); got != want {
			t.Errorf("deviation(%g) = %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.00123: "0.00", 0.0346: "0.03", 1.256: "1.26", 12.34: "12.3", 123.4: "123"} {
		if got := percent(&x); got != want {
			t.Errorf("percent(%g) = %s, want %s", x, got, want)
		}
	}
	if figure(nil) != "–" {
		t.Error("an absent figure is no zero")
	}
}
