//go:build !cgo

package duck

import (
	"errors"
	"testing"
)

func TestUnavailable(t *testing.T) {
	if _, err := Open(t.Context(), Options{Roots: []string{t.TempDir()}}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	if Available {
		t.Error("SQL is said to be available")
	}
}
