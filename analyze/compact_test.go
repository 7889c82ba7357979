package analyze

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"

	"tokwatt/collect"
)

// history is a dataset under way: what of each session is in the store, and
// what was archived of it.
type history struct {
	t    *testing.T
	root string
	kept map[string]int // batches of each session, as archived
}

const historyDays = 2

// recordsOf is a session of some batches of one request. Its id is after or
// before the others' as its number is.
func recordsOf(i, batches int) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		one := int64(1)
		recs := []collect.Record{
			&collect.Session{ID: fmt.Sprintf("0198-%02d", i), StartedAt: time.Date(2026, 3, 1+i%historyDays, 10, 0, 0, 0, time.UTC),
				Host: collect.Host{Name: "Mac Mini"}, Tags: slices.Repeat([]string{"a", ""}, i%3)},
			&collect.Segment{Segment: 1, StartedAt: time.Date(2026, 3, 1+i%historyDays, 10, 0, 0, 0, time.UTC)},
			&collect.TargetInfo{TargetID: 1, Engine: "e", Nodes: []string{"x", "y"}[:i%2]},
			&collect.Case{TargetID: 1, CaseID: 1, PP: &one, TG: 1, Concurrency: 1},
		}
		for b := range int64(batches) {
			recs = append(recs, &collect.Batch{CaseID: 1, BatchID: b + 1, Segment: 1, Requests: []collect.Request{{RequestID: b + 1, EndNS: 9,
				Chunks: []collect.Chunk{{T: 1, Kind: collect.KindContent, Tokens: collect.TokensUnknown}, {T: 2, Kind: collect.KindContent, Tokens: 1}}}}})
		}
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// expect reads the dataset as a reader does and holds every row against what
// was archived: each once.
func (h *history) expect(when string, maybe map[string]int) {
	h.t.Helper()
	files, _, err := DatasetFiles(h.root)
	if err != nil {
		h.t.Fatalf("%s: %v", when, err)
	}
	got := map[string]map[string]int{} // table, session: rows
	for _, f := range files {
		if got[f.Table] == nil {
			got[f.Table] = map[string]int{}
		}
		for _, id := range sessionIDs(h.t, filepath.Join(h.root, filepath.FromSlash(f.Path))) {
			if len(f.Only) == 0 || slices.Contains(f.Only, id) {
				got[f.Table][id]++
			}
		}
	}
	for _, id := range append(sortedKeys(h.kept), sortedKeys(maybe)...) {
		n := got["requests"][id]
		if m, both := maybe[id]; n != h.kept[id] && (!both || n != m) {
			h.t.Fatalf("%s: session %s has %d requests, want %d (or %v)", when, id, n, h.kept[id], maybe)
		}
		if n == 0 && len(maybe) > 0 && h.kept[id] == 0 {
			continue
		}
		if got["batches"][id] != n || got["chunks"][id] != 2*n || got["sessions"][id] != 1 || got["targets"][id] != 1 || got["cases"][id] != 1 {
			h.t.Fatalf("%s: session %s is there by halves: %d requests, %d batches, %d chunks, %d sessions", when, id, n,
				got["batches"][id], got["chunks"][id], got["sessions"][id])
		}
	}
	if len(got["sessions"]) > len(h.kept)+len(maybe) {
		h.t.Fatalf("%s: %d sessions, want %d", when, len(got["sessions"]), len(h.kept))
	}
}

// sessionIDs are the values of a file's first column.
func sessionIDs(t *testing.T, path string) []string {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for g := range r.NumRowGroups() {
		var v values
		if err := v.read(r.RowGroup(g), 0); err != nil {
			t.Fatal(err)
		}
		for _, x := range v.texts {
			out = append(out, string(x))
		}
	}
	return out
}

var errKilled = errors.New("killed")

// killer lets some steps be done and then none any more.
func killer(after int) (step func(string) error, done *int) {
	n := 0
	return func(string) error {
		if n++; n > after {
			return errKilled
		}
		return nil
	}, &n
}

func (h *history) archive(i, batches int, step func(string) error) error {
	_, err := Export(h.t.Context(), recordsOf(i, batches), h.root, ExportOptions{Records: int64(batches), step: step})
	return err
}

// fill archives sessions of two days, and, where they are compacted, some more
// then.
func (h *history) fill(compacted bool) {
	h.t.Helper()
	add := func(i, batches int) {
		if err := h.archive(i, batches, nil); err != nil {
			h.t.Fatal(err)
		}
		h.kept[fmt.Sprintf("0198-%02d", i)] = batches
	}
	for _, i := range []int{0, 2, 3} {
		add(i, i+1)
	}
	if !compacted {
		return
	}
	if err := compactWith(h, nil); err != nil {
		h.t.Fatal(err)
	}
	add(6, 2)
}

// TestKilledAtEveryStep ends an archive of a new session, one of a session
// that went on (alone and merged with others), a compaction and a removal before
// each of their steps: a reader sees all or nothing of it, and the next command
// makes it whole.
func TestKilledAtEveryStep(t *testing.T) {
	id := func(i int) string { return fmt.Sprintf("0198-%02d", i) }
	for name, c := range map[string]struct {
		compacted bool
		maybe     map[string]int
		do        func(h *history, step func(string) error) error
	}{
		"new":            {false, map[string]int{id(8): 3}, func(h *history, step func(string) error) error { return h.archive(8, 3, step) }},
		"grown":          {false, map[string]int{id(2): 5}, func(h *history, step func(string) error) error { return h.archive(2, 5, step) }},
		"grown, merged":  {true, map[string]int{id(2): 5}, func(h *history, step func(string) error) error { return h.archive(2, 5, step) }},
		"compact":        {false, nil, compactWith},
		"compact, again": {true, nil, compactWith},
		"bundle":         {false, nil, bundleWith},
		"bundle, merged": {true, nil, bundleWith},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
			start.fill(c.compacted)
			for after := 0; ; after++ {
				h := &history{t: t, root: t.TempDir(), kept: maps.Clone(start.kept)}
				if err := os.CopyFS(h.root, os.DirFS(start.root)); err != nil {
					t.Fatal(err)
				}
				step, n := killer(after)
				err := c.do(h, step)
				when := fmt.Sprintf("killed after %d steps", after)
				h.expect(when, c.maybe)
				if r, err := CheckDataset(t.Context(), h.root); err != nil || !r.OK() {
					t.Fatalf("%s: check: %+v, %v", when, r, err)
				}
				if err == nil && *n <= after {
					if after < 10 {
						t.Fatalf("only %d steps", after)
					}
					return
				}
				if err := errors.Join(c.do(h, nil), compactWith(h, nil)); err != nil { // whoever comes next
					t.Fatalf("%s, then: %v", when, err)
				}
				for id, n := range c.maybe {
					h.kept[id] = n
				}
				h.expect(when+", then made whole", nil)
				if r, err := CheckDataset(t.Context(), h.root); err != nil || !r.OK() || r.Foreign > 0 || r.Sessions != len(h.kept) {
					t.Fatalf("%s: check: %+v, %v", when, r, err)
				}
			}
		})
	}
}

func compactWith(h *history, step func(string) error) error {
	done, err := Compact(h.t.Context(), h.root, CompactOptions{step: step, unsync: true})
	return errors.Join(append(done.Kept, err)...)
}

// bundleWith makes a bundle anew, with what is there.
func bundleWith(h *history, step func(string) error) error {
	return dataset{root: h.root, step: step}.bundle(h.t.Context(), 1, true)
}

// TestHistories archives, removes, compacts and is killed at random; whatever
// happened, each row is there once.
func TestHistories(t *testing.T) {
	for seed := range uint64(10) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
		var trace []string
		for range 25 {
			i := rnd.IntN(9)
			id := fmt.Sprintf("0198-%02d", i)
			var step func(string) error
			if rnd.IntN(3) == 0 {
				step, _ = killer(rnd.IntN(60))
			}
			var maybe map[string]int
			var err error
			switch rnd.IntN(8) {
			case 6, 7:
				err = dataset{root: h.root, step: step}.bundle(t.Context(), 1+rnd.IntN(3), rnd.IntN(2) == 0)
				trace = append(trace, "bundle")
			case 0, 1:
				err = compactWith(h, step)
				trace = append(trace, "compact")
			case 2:
				err = RemoveSession(t.Context(), h.root, id)
				delete(h.kept, id)
				trace = append(trace, "remove "+id)
			default:
				n := h.kept[id] + 1 + rnd.IntN(2)
				trace = append(trace, fmt.Sprintf("archive %s %d", id, n))
				if err = h.archive(i, n, step); err != nil {
					maybe = map[string]int{id: n}
				} else {
					h.kept[id] = n
				}
			}
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(trace, "\n"))
			}
			h.expect(fmt.Sprintf("seed %d\n%s\n", seed, strings.Join(trace, "\n")), maybe)
			for id, n := range maybe { // which of the two is it
				if files, _, err := DatasetFiles(h.root, id); err != nil || rowsOf(t, h.root, files, id) == n {
					h.kept[id] = n
				}
			}
		}
		if err := compactWith(h, nil); err != nil {
			t.Fatal(err)
		}
		if r, err := CheckDataset(t.Context(), h.root); err != nil || !r.OK() || r.Sessions != len(h.kept) {
			t.Fatalf("seed %d: %+v, %v\n%s", seed, r, err, strings.Join(trace, "\n"))
		}
	}
}

func rowsOf(t *testing.T, root string, files []DatasetFile, id string) int {
	n := 0
	for _, f := range files {
		if f.Table != "requests" {
			continue
		}
		for _, have := range sessionIDs(t, filepath.Join(root, filepath.FromSlash(f.Path))) {
			if have == id {
				n++
			}
		}
	}
	return n
}

// TestCompactKeepsEveryCell merges sessions and holds each column against the
// sources', in the order of the sessions.
func TestCompactKeepsEveryCell(t *testing.T) {
	h := &history{t: t, root: t.TempDir(), kept: map[string]int{}}
	for _, i := range []int{6, 0, 2, 4} {
		if err := h.archive(i, i+2, nil); err != nil {
			t.Fatal(err)
		}
	}
	cells := func() map[string]values {
		files, _, err := DatasetFiles(h.root)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(files, func(a, b DatasetFile) int { return strings.Compare(a.Path, b.Path) })
		out := map[string]values{}
		for _, f := range files {
			r, err := file.OpenParquetFile(filepath.Join(h.root, filepath.FromSlash(f.Path)), false)
			if err != nil {
				t.Fatal(err)
			}
			for g := range r.NumRowGroups() {
				for i := range r.MetaData().Schema.NumColumns() {
					key := f.Table + " " + r.MetaData().Schema.Column(i).Path()
					v := out[key]
					if err := v.read(r.RowGroup(g), i); err != nil {
						t.Fatal(err)
					}
					all := out[key]
					all.def, all.rep = append(all.def, v.def[len(all.def):]...), append(all.rep, v.rep[len(all.rep):]...)
					all.ints, all.doubles, all.bools, all.texts = append(all.ints, v.ints...), append(all.doubles, v.doubles...), append(all.bools, v.bools...), append(all.texts, v.texts...)
					out[key] = all
				}
			}
			r.Close()
		}
		return out
	}
	before := cells()
	done, err := Compact(t.Context(), h.root, CompactOptions{})
	if err != nil || done.Partitions != 1 || done.Sessions != 4 || done.FilesBefore != 4*len(Tables()) || done.FilesAfter != len(Tables()) {
		t.Fatalf("%+v, %v", done, err)
	}
	after := cells()
	if len(after) != len(before) || len(after) < 100 {
		t.Fatalf("%d columns, were %d", len(after), len(before))
	}
	for key, want := range before {
		if got := after[key]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	if done, err := Compact(t.Context(), h.root, CompactOptions{}); err != nil || done.Partitions != 0 {
		t.Errorf("a second time: %+v, %v", done, err)
	}
	if entries, err := os.ReadDir(filepath.Join(h.root, "table=requests", "host=Mac%20Mini", "date=2026-03-01")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
