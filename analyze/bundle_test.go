package analyze

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bundledFiles are the files of bundles that a reader gets.
func bundledFiles(t *testing.T, root string) []string {
	t.Helper()
	files, _, err := DatasetFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		if f.Bundled {
			out = append(out, f.Path)
		}
	}
	return out
}

// TestBundle: a bundle stands for the small tables of many sessions until one of
// its files or of its sources changes, whatever the change, and is made anew then.
func TestBundle(t *testing.T) {
	for name, change := range map[string]func(h *history){
		"a session that is gone":   func(h *history) { h.must(RemoveSession(h.t.Context(), h.root, "0198-03")); delete(h.kept, "0198-03") },
		"files that were merged":   func(h *history) { h.must(compactWith(h, nil)) },
		"a list that is no JSON":   func(h *history) { h.spoil(".json", func([]byte) []byte { return []byte("{") }) },
		"a list of no sources":     func(h *history) { h.spoil(".json", func([]byte) []byte { return []byte("{}") }) },
		"a file that is cut short": func(h *history) { h.spoil("cases.parquet", func(b []byte) []byte { return b[:len(b)-1] }) },
		"a file that is missing":   func(h *history) { h.spoil("targets.parquet", func([]byte) []byte { return nil }) },
		"a newer schema": func(h *history) {
			h.spoil(".json", func(b []byte) []byte {
				return []byte(strings.Replace(string(b), `"schema_version":3`, `"schema_version":99`, 1))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
			h.fill(false)
			h.must(bundleWith(h, nil))
			if got := bundledFiles(t, h.root); len(got) != len(bundled) {
				t.Fatalf("bundled: %q", got)
			}
			h.expect("bundled", nil)
			change(h)
			if got := bundledFiles(t, h.root); len(got) != 0 {
				t.Errorf("still stands: %q", got)
			}
			h.expect("changed", nil)
			h.must(dataset{root: h.root}.bundle(t.Context(), 1, false))
			if got := bundledFiles(t, h.root); len(got) != len(bundled) {
				t.Errorf("made anew: %q", got)
			}
			h.expect("made anew", nil)
			if entries, err := os.ReadDir(filepath.Join(h.root, bundleDir)); err != nil || len(entries) != len(bundled)+1 {
				t.Errorf("files left: %v, %v", entries, err)
			}
		})
	}
}

// TestBundleGrows: sessions that come later get a bundle of their own, and all
// become one when that is asked for. Few are not worth one.
func TestBundleGrows(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(false)
	h.must(Bundle(t.Context(), h.root, false))
	if got := bundledFiles(t, h.root); len(got) != 0 {
		t.Errorf("three sessions have a bundle: %q", got)
	}
	h.must(bundleWith(h, nil))
	h.must(h.archive(8, 3, nil))
	h.kept["0198-08"] = 3
	h.must(dataset{root: h.root}.bundle(t.Context(), 1, false))
	h.expect("two bundles", nil)
	if got := bundledFiles(t, h.root); len(got) != 2*len(bundled) {
		t.Errorf("two bundles: %q", got)
	}
	h.must(bundleWith(h, nil))
	h.expect("one bundle", nil)
	if got := bundledFiles(t, h.root); len(got) != len(bundled) {
		t.Errorf("one bundle: %q", got)
	}
	seq, err := DatasetState(h.root)
	h.must(err)
	h.must(bundleWith(h, nil))
	if again, err := DatasetState(h.root); err != nil || again != seq {
		t.Errorf("a bundle of the same is a change: %v", err)
	}
}

// TestBundleDamaged: check finds a byte that changed, and Bundle mends it.
func TestBundleDamaged(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(false)
	h.must(bundleWith(h, nil))
	h.spoil("sessions.parquet", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	r, err := CheckDataset(t.Context(), h.root)
	if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), "-sessions.parquet: its bytes are not those") {
		t.Errorf("%+v, %v", r, err)
	}
	h.must(dataset{root: h.root}.bundle(t.Context(), 1, false))
	if r, err := CheckDataset(t.Context(), h.root); err != nil || !r.OK() || r.Foreign > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func (h *history) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// spoil changes the bytes of a bundle's file; nil removes it.
func (h *history) spoil(ending string, change func([]byte) []byte) {
	h.t.Helper()
	found, err := filepath.Glob(filepath.Join(h.root, bundleDir, "*"+ending))
	if err != nil || len(found) != 1 {
		h.t.Fatalf("%q, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	h.must(err)
	if text = change(text); text == nil {
		h.must(os.Remove(found[0]))
		return
	}
	h.must(os.WriteFile(found[0], text, 0o644))
}

// TestBundleOfDamaged: a source that is not what was written is left out, and
// nothing is said: it is check that names it.
func TestBundleOfDamaged(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":  os.Remove,
		"cut":   func(path string) error { return os.Truncate(path, 60) },
		"empty": func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
		h.fill(false)
		h.must(harm(h.one("table=cases/host=*/date=2026-03-01/0198-02.parquet")))
		h.must(bundleWith(h, nil))
		files, _, err := DatasetFiles(h.root)
		h.must(err)
		bundles := 0
		for _, f := range files {
			if f.Bundled {
				bundles++
			}
		}
		if bundles != len(bundled) {
			t.Errorf("%s: %d bundles", name, bundles)
		}
		h.must(h.archive(2, 3, nil))
		h.expect(name+", written again", nil)
	}
}

// TestBundleOfOrphans: a merged file with a session that no manifest names is
// left out of a bundle, whose rows would lack that session's.
func TestBundleOfOrphans(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(true)
	h.must(os.Remove(manifestPath(h.root, "0198-02")))
	sessions := func() []string {
		files, _, err := DatasetFiles(h.root)
		h.must(err)
		var out []string
		for _, f := range files {
			if f.Table == "sessions" {
				out = append(out, sessionIDs(t, filepath.Join(h.root, filepath.FromSlash(f.Path)))...)
			}
		}
		slices.Sort(out)
		return out
	}
	before := sessions()
	h.must(bundleWith(h, nil))
	if got := bundledFiles(t, h.root); len(got) == 0 {
		t.Error("the others have no bundle")
	}
	if after := sessions(); !slices.Contains(before, "0198-02") || !slices.Equal(after, before) {
		t.Errorf("sessions %q with a bundle, %q without", after, before)
	}
}

// TestBundleLeavesNothing: a bundle that can't be written, whichever file it is
// that fails, leaves no temporary file.
func TestBundleLeavesNothing(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(false)
	for _, file := range append(slices.Clone(bundled), "bundle") {
		err := bundleWith(h, func(what string) error {
			if what == "create "+file {
				return errKilled
			}
			return nil
		})
		left, readErr := os.ReadDir(filepath.Join(h.root, bundleDir))
		h.must(readErr)
		if !errors.Is(err, errKilled) || len(left) > 0 {
			t.Errorf("%s: error %v, left %v", file, err, left)
		}
	}
}
