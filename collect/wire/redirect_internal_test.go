package wire

import (
	"net/url"
	"testing"
)

// TestSameOrigin: the scheme, the host and the port must all be the same; a
// port that is not named is the scheme's.
func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://h/v1", "https://h/other", true},
		{"https://h/v1", "https://H:443/v1", true},
		{"http://h:80/", "http://h/", true},
		{"https://h/v1", "http://h/v1", false},
		{"https://h/v1", "http://h:443/v1", false},
		{"http://h/v1", "https://h/v1", false},
		{"http://h:8080/", "http://h:8081/", false},
		{"http://h/", "http://api.h/", false},
		{"http://api.h/", "http://h/", false},
		{"http://127.0.0.1:1/", "http://localhost:1/", false},
		{"http://[::1]:1/", "http://[::1]:1/", true},
	} {
		a, err := url.Parse(c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := url.Parse(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := SameOrigin(a, b); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
