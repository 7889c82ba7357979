package analyze

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// again is what `archive` does of a store with all sessions of a dataset.
func (h *history) again() {
	h.t.Helper()
	for _, id := range sortedKeys(h.kept) {
		m, err := ReadManifest(h.root, id)
		if err == nil && m != nil && m.Verify(h.root) == nil && m.Current(int64(h.kept[id])) {
			continue
		}
		i, err := strconv.Atoi(id[len("0198-"):])
		h.must(err)
		h.must(h.archive(i, h.kept[id], nil))
	}
}

// layOver copies a dataset over another, as cp -r does.
func (h *history) layOver(from string) {
	h.t.Helper()
	h.must(filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(h.root, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	}))
}

// one is the only file below the root that fits.
func (h *history) one(pattern string) string {
	h.t.Helper()
	found, err := filepath.Glob(filepath.Join(h.root, filepath.FromSlash(pattern)))
	if err != nil || len(found) != 1 {
		h.t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

const mergedRequests = "table=requests/host=Mac%20Mini/date=2026-03-01/compact-*.parquet"

// TestMergedIsMended: whatever is done to merged files or their manifests, check
// says so where rows are lost or there twice, and archiving from the store and
// compacting make all whole, each row once.
func TestMergedIsMended(t *testing.T) {
	ids := func(h *history, do func(path string)) {
		for _, id := range []string{"0198-00", "0198-02"} {
			do(manifestPath(h.root, id))
		}
	}
	for name, c := range map[string]struct {
		harm func(h *history)
		say  string // of check; empty: it is sound
	}{
		"a file that is gone": {func(h *history) { h.must(os.Remove(h.one(mergedRequests))) }, "it is missing"},
		"a file cut short":    {func(h *history) { h.must(os.Truncate(h.one(mergedRequests), 90)) }, "bytes instead of"},
		"a file of zeros": {func(h *history) {
			info, err := os.Stat(h.one(mergedRequests))
			h.must(err)
			h.must(os.WriteFile(h.one(mergedRequests), make([]byte, info.Size()), 0o644))
		}, "not those that were written"},
		"a byte": {func(h *history) {
			text, err := os.ReadFile(h.one(mergedRequests))
			h.must(err)
			text[len(text)/3] ^= 0x10
			h.must(os.WriteFile(h.one(mergedRequests), text, 0o644))
		}, "not those that were written"},
		"two manifests cut short": {func(h *history) { ids(h, func(p string) { h.must(os.Truncate(p, 9)) }) }, "is damaged"},
		"a manifest that is gone": {func(h *history) { h.must(os.Remove(manifestPath(h.root, "0198-02"))) }, "has no manifest"},
		"no manifest":             {func(h *history) { h.must(os.RemoveAll(filepath.Join(h.root, manifestDir))) }, ""},
		"single files laid over": {func(h *history) {
			other := &history{t: h.t, root: h.t.TempDir(), kept: map[string]int{}}
			h.must(other.archive(2, 3, nil))
			h.layOver(other.root)
		}, "count twice"},
		"a second name": {func(h *history) {
			from := filepath.Join(h.root, "table=requests", "host=Mac%20Mini", "date=2026-03-02", "0198-03.parquet")
			text, err := os.ReadFile(from)
			h.must(err)
			h.must(os.WriteFile(strings.Replace(from, ".parquet", " (conflicted copy).parquet", 1), text, 0o644))
		}, "count twice"},
		"merged over single files": {func(h *history) {
			merged := h.root
			h.root = h.t.TempDir()
			h.again()
			h.layOver(merged)
		}, "count twice"},
		"another merged one laid over": {func(h *history) {
			other := &history{t: h.t, root: h.t.TempDir(), kept: map[string]int{}}
			h.must(other.archive(2, 3, nil))
			h.must(other.archive(6, 2, nil))
			h.must(compactWith(other, nil))
			h.layOver(other.root)
		}, "count twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
			h.fill(true)
			h.must(compactWith(h, nil))
			h.must(bundleWith(h, nil))
			h.expect("before", nil)
			c.harm(h)
			r, err := CheckDataset(t.Context(), h.root)
			if err != nil || r.OK() != (c.say == "") || !r.OK() && !strings.Contains(r.Problems[0].Error(), c.say) {
				t.Errorf("check: %v, %v", r.Problems, err)
			}
			if c.say == "count twice" {
				h.expect("as it is", nil)
			}
			h.again()
			h.again() // sessions of which nobody had a manifest are known now
			h.must(compactWith(h, nil))
			h.must(Bundle(t.Context(), h.root, true))
			h.expect("mended", nil)
			r, err = CheckDataset(t.Context(), h.root)
			if strings.HasPrefix(name, "merged over single") || name == "a second name" { // which are passed over
				return
			}
			if err != nil || !r.OK() || r.Foreign > 0 || r.Sessions != len(h.kept) {
				t.Errorf("check in the end: %+v, %v", r, err)
			}
		})
	}
}

// TestMergedOfNewerSchema: what this program would leave out is not written anew.
func TestMergedOfNewerSchema(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(true)
	path := manifestPath(h.root, "0198-00")
	text, err := os.ReadFile(path)
	h.must(err)
	h.must(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), `"schema_version":3`, `"schema_version":99`)), 0o644))
	if err := h.archive(2, 9, nil); err == nil || !strings.Contains(err.Error(), "schema version 99") {
		t.Errorf("%v", err)
	}
	h.expect("afterwards", nil)
}

// TestDamagedMergedKeepsOthers: what a damaged file had of sessions that this
// store has not stays, aside, and is said to be missing.
func TestDamagedMergedKeepsOthers(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	h.fill(true)
	before, err := os.ReadFile(h.one(mergedRequests))
	h.must(err)
	before[len(before)/2] ^= 1
	h.must(os.WriteFile(h.one(mergedRequests), before, 0o644))
	h.must(h.archive(2, 3, nil))
	aside, err := os.ReadFile(h.one(damagedDir + "/requests-compact-*.parquet"))
	if err != nil || string(aside) != string(before) {
		t.Errorf("aside: %d bytes, %v", len(aside), err)
	}
	files, _, err := DatasetFiles(h.root)
	h.must(err)
	missing := 0
	for _, f := range files {
		if f.Missing {
			missing++
		}
	}
	r, err := CheckDataset(t.Context(), h.root)
	if err != nil || missing != 1 || len(r.Damaged) != 1 || r.Damaged[0] != "0198-00" {
		t.Errorf("%d files are missing; check: %+v, %v", missing, r, err)
	}
	others := maps.Clone(h.kept)
	h.kept = map[string]int{"0198-00": others["0198-00"]}
	h.again()
	h.kept = others
	h.expect("from the other store", nil)
}
