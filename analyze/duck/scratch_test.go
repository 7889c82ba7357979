package duck

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestScratchOfTheDead: what nobody holds goes, what somebody holds stays,
// however old.
func TestScratchOfTheDead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := time.Now().Add(-time.Hour)
	age := func(dir string) {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	held, err := NewScratch()
	if err != nil {
		t.Fatal(err)
	}
	age(held.Dir)
	dead := filepath.Join(os.TempDir(), scratchName+"dead")
	fresh := filepath.Join(os.TempDir(), scratchName+"fresh")
	other := filepath.Join(os.TempDir(), "other")
	for _, dir := range []string{dead, fresh, other} {
		if err := os.MkdirAll(filepath.Join(dir, "spill"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	age(dead)
	age(other)
	next, err := NewScratch()
	if err != nil {
		t.Fatal(err)
	}
	for dir, stays := range map[string]bool{held.Dir: true, next.Dir: true, dead: false, fresh: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, stays %v", dir, err, stays)
		}
	}
	for _, s := range []*Scratch{held, next} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.Dir); err == nil {
			t.Errorf("%s is left", s.Dir)
		}
	}
}
