package analyze

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHoldDataset: who changes a dataset waits for those that hold it, of whom
// there may be several; also where the lock's file was replaced by a copy's.
func TestHoldDataset(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	if release, err := HoldDataset(t.Context(), h.root); err != nil {
		t.Fatal(err)
	} else {
		release() // of nothing that is there
	}
	h.must(h.archive(0, 1, nil))
	one, err := HoldDataset(t.Context(), h.root)
	h.must(err)
	two, err := HoldDataset(t.Context(), h.root)
	h.must(err)
	done := make(chan error)
	go func() { done <- h.archive(1, 1, nil) }()
	for _, release := range []func(){one, two} {
		select {
		case err := <-done:
			t.Fatalf("changed while it is held: %v", err)
		case <-time.After(30 * time.Millisecond):
		}
		release()
	}
	h.must(<-done)

	one, err = lockDataset(t.Context(), h.root)
	h.must(err)
	go func() {
		release, err := HoldDataset(t.Context(), h.root)
		if err == nil {
			release()
		}
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	h.must(os.Remove(filepath.Join(h.root, lockName)))
	h.must(os.WriteFile(filepath.Join(h.root, lockName), nil, 0o644))
	three, err := lockDataset(t.Context(), h.root)
	h.must(err)
	one()
	select {
	case err := <-done:
		t.Errorf("held by the file that was replaced: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	three()
	h.must(<-done)
}

// TestJournalOfNewer: what this program does not understand it does not end, and
// reads past.
func TestJournalOfNewer(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(false)
	journal := filepath.Join(h.root, journalName)
	h.must(os.WriteFile(journal, []byte(`{"seq":90,"swap":["a","b"]}`), 0o644))
	if err := h.archive(8, 1, nil); err == nil || !strings.Contains(err.Error(), "newer tokwatt") {
		t.Errorf("ended: %v", err)
	}
	h.expect("a newer change under way", nil)
	for _, damaged := range []string{"", "{", `{"seq":1,"remove":["../x"]}`, `{"seq":1,"add":[{"temp":"/etc/x","path":"y"}]}`} {
		h.must(os.WriteFile(journal, []byte(damaged), 0o644))
		r, err := CheckDataset(t.Context(), h.root)
		if err != nil || len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0].Error(), journal+" is damaged") {
			t.Errorf("%q: %v, %v", damaged, r.Problems, err)
		}
		if err := h.archive(8, 1, nil); err == nil || !strings.Contains(err.Error(), journal+" is damaged") {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

// TestLongHosts: a host's name of any length fits a folder, and two that differ
// at their ends stay two.
func TestLongHosts(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"mac", strings.Repeat("a", 240), strings.Repeat("a", 241), strings.Repeat("a", 300), strings.Repeat(" ", 200), strings.Repeat("日", 200),
		strings.Repeat("日", 200) + "x", strings.Repeat("é%=/", 90), "\xff" + strings.Repeat("a", 300)} {
		host := shortHost(name)
		folder := "host=" + escapePartition(host)
		if len(folder) > 255 || seen[host] || shortHost(host) != host || len(escapePartition(name)) <= longestHost && host != name {
			t.Errorf("%q: %q, %d bytes", name, host, len(folder))
		}
		seen[host] = true
		if err := os.Mkdir(filepath.Join(t.TempDir(), folder), 0o755); err != nil {
			t.Error(err)
		}
	}
}

// TestLinkedFolders: a host's folder may be a link, as may be a table's.
func TestLinkedFolders(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(true)
	for _, folder := range []string{"table=requests/host=Mac%20Mini", "table=sessions"} {
		to := filepath.Join(t.TempDir(), "x")
		h.must(os.Rename(filepath.Join(h.root, folder), to))
		h.must(os.Symlink(to, filepath.Join(h.root, folder)))
	}
	h.expect("linked", nil)
	if found, err := LinkedFolders(h.root); err != nil || len(found) != 2 {
		t.Errorf("%q, %v", found, err)
	}
	h.must(compactWith(h, nil))
	h.expect("merged", nil)
}
