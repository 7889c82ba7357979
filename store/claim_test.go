package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// TestClaim: one process has a session, by whatever name of the store, until
// it lets go or dies.
func TestClaim(t *testing.T) {
	for name, end := range map[string]func(*os.Process, func()){
		"released": func(_ *os.Process, eof func()) { eof() },
		"killed":   func(p *os.Process, _ func()) { _ = p.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			s, id := temp(t), newID(t)
			put(t, s, id, typicalSession(id))
			link := filepath.Join(t.TempDir(), "link.db")
			if err := os.Symlink(s.Path(), link); err != nil {
				t.Fatal(err)
			}
			c, out, in := start(t, "claim", s.Path(), id)
			if line, err := out.ReadString('\n'); line != "claimed\n" {
				t.Fatalf("%q, %v", line, err)
			}
			is := func(running bool) {
				t.Helper()
				for _, s := range []*Store{s, Open(link, Options{})} {
					infos, err := s.Sessions(t.Context())
					if err != nil || len(infos) != 1 || infos[0].Running != running {
						t.Errorf("%s: %+v, %v, want running %v", s.Path(), infos, err, running)
					}
					release, err := s.Claim(t.Context(), id)
					if errors.Is(err, ErrClaimed) != running || (err == nil) == running {
						t.Errorf("%s: claimed by us, too: %v", s.Path(), err)
					}
					if err == nil {
						release()
					}
				}
			}
			is(true)
			if release, err := s.Claim(t.Context(), newID(t)); err != nil {
				t.Errorf("another session: %v", err)
			} else {
				release()
			}
			end(c.Process, func() { in.Close() })
			_ = c.Wait()
			is(false)
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path()), ".*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestClaimIsExclusive: however claims, releases and questions meet, nobody
// has a session beside another.
func TestClaimIsExclusive(t *testing.T) {
	s, id := temp(t), newID(t)
	put(t, s, id, typicalSession(id))
	var holders, had atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				release, err := s.Claim(t.Context(), id)
				if errors.Is(err, ErrClaimed) {
					continue
				} else if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d have the session", n)
				}
				had.Add(1)
				holders.Add(-1)
				release()
			}
		})
	}
	all.Go(func() {
		for range 200 {
			if _, err := s.Sessions(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if had.Load() < 50 {
		t.Errorf("claimed %d times only", had.Load())
	}
}

// TestClaimNeedsAStoreToWrite: what can't be written is found by the claim.
func TestClaimNeedsAStoreToWrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(file, "t.db"), filepath.Join("/proc/self", "t.db")} {
		if _, err := Open(path, Options{}).Claim(t.Context(), newID(t)); err == nil || errors.Is(err, ErrClaimed) {
			t.Errorf("%s: %v", path, err)
		}
	}
	fresh := filepath.Join(dir, "a", "b", "t.db")
	release, err := Open(fresh, Options{}).Claim(t.Context(), newID(t))
	if err != nil {
		t.Fatalf("a store that is not made yet: %v", err)
	}
	release()
}
