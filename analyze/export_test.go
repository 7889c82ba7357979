package analyze_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

func export(t *testing.T, recs iter.Seq2[collect.Record, error], root string) analyze.Exported {
	t.Helper()
	done, err := analyze.Export(t.Context(), recs, root, analyze.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// files lists what is below root, temporary files too, but for manifests.
func files(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			dir, name := filepath.Split(rel)
			ours := dir == "" && (name == ".journal.json" || name == ".publishing")
			if !ours && (dir != ".sessions/" || filepath.Ext(name) != ".json") {
				out = append(out, rel)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func records(recs ...collect.Record) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func session(host string) *collect.Session {
	return &collect.Session{ID: "0198-a", StartedAt: time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("", -3600)), Host: collect.Host{Name: host}}
}

func TestExportWritesOneFileATable(t *testing.T) {
	root := t.TempDir()
	done := export(t, records(session("Mac Mini")), root)
	var want []string
	for _, table := range analyze.Tables() {
		want = append(want, "table="+table.Name+"/host=Mac%20Mini/date=2026-03-02/0198-a.parquet")
	}
	if !slices.Equal(done.Files, want) {
		t.Errorf("files %q, want %q", done.Files, want)
	}
	slices.Sort(want)
	if got := files(t, root); !slices.Equal(got, want) {
		t.Errorf("on disk: %q, want %q", got, want)
	}
	if done.Host != "Mac Mini" || done.Date != "2026-03-02" || done.SessionID != "0198-a" {
		t.Errorf("%+v", done)
	}
	for _, table := range analyze.Tables() { // a table without rows is a good file too
		if got := read(t, root, done, table.Name); got.NumRows() != done.Rows[table.Name] || int(got.NumCols()) != len(table.Columns) {
			t.Errorf("%s: %d rows of %d columns", table.Name, got.NumRows(), got.NumCols())
		}
	}
}

func TestExportEscapesHosts(t *testing.T) {
	for host, dir := range map[string]string{
		"mac-1.local":   "mac-1.local",
		"a/../b":        "a%2F..%2Fb",
		"50% = \"x\":*": "50%25%20%3D%20%22x%22%3A%2A",
		"küche":         "küche",
		"bad\xff\x00":   "bad\uFFFD%00",
		"":              "unknown",
	} {
		root := t.TempDir()
		done := export(t, records(session(host)), root)
		if got := strings.Split(done.Files[0], "/")[1]; got != "host="+dir {
			t.Errorf("host %q is in %q, want %q", host, got, dir)
		}
		if _, err := os.Stat(filepath.Join(root, done.Files[0])); err != nil {
			t.Error(err)
		}
	}
}

func TestExportGivesTheSameBytes(t *testing.T) {
	o := analyzetest.Options{Seed: 5, Repeats: 2}
	first, second := t.TempDir(), t.TempDir()
	done := export(t, analyzetest.Records(o), first)
	export(t, analyzetest.Records(o), second)
	export(t, analyzetest.Records(o), second) // over what is there
	for _, f := range done.Files {
		a, errA := os.ReadFile(filepath.Join(first, f))
		b, errB := os.ReadFile(filepath.Join(second, f))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v, %v)", f, errA, errB)
		}
	}
	if n := len(files(t, second)); n != len(done.Files) {
		t.Errorf("%d files, want %d", n, len(done.Files))
	}
}

func TestExportOfAResumedSession(t *testing.T) {
	s, end := session("h"), &collect.End{At: time.Now(), Status: collect.StatusInterrupted}
	for name, c := range map[string]struct {
		recs  []collect.Record
		ended bool
	}{
		"ended":         {[]collect.Record{s, &collect.Segment{Segment: 1}, end}, true},
		"goes on":       {[]collect.Record{s, &collect.Segment{Segment: 1}, end, &collect.Segment{Segment: 2}}, false},
		"ended at last": {[]collect.Record{s, &collect.Segment{Segment: 1}, end, &collect.Segment{Segment: 2}, end}, true},
	} {
		root := t.TempDir()
		got := read(t, root, export(t, records(c.recs...), root), "sessions")
		status := got.Schema().FieldIndices("status")
		if ended := cell(got.Column(status[0]), 0) != nil; ended != c.ended {
			t.Errorf("%s: ended %v", name, ended)
		}
	}
}

// A target of which a later segment says more is one row: the newest. Batches
// of both segments are of it.
func TestExportOfATargetThatComesAgain(t *testing.T) {
	first := &collect.TargetInfo{TargetID: 1, ModelID: "m", InstanceID: "first"}
	other := &collect.TargetInfo{TargetID: 2, ModelID: "n", InstanceID: "other"}
	again := &collect.TargetInfo{TargetID: 1, ModelID: "m", InstanceID: "second"}
	batch := func(id, segment int64) *collect.Batch {
		return &collect.Batch{CaseID: 1, BatchID: id, Segment: segment, Requests: []collect.Request{{RequestID: id}}}
	}
	root := t.TempDir()
	done := export(t, records(session("h"), &collect.Segment{Segment: 1}, first, &collect.Case{TargetID: 1, CaseID: 1}, batch(1, 1), other,
		&collect.Lost{Segment: 1, Message: "no memory"}, &collect.Segment{Segment: 2}, again, batch(2, 2)), root)
	got := read(t, root, done, "targets")
	instances := got.Column(got.Schema().FieldIndices("instance_id")[0])
	if done.Damaged != 0 || done.Rows["batches"] != 2 || got.NumRows() != 2 || cell(instances, 0) != "second" || cell(instances, 1) != "other" {
		t.Errorf("%+v, instances %v", done, instances)
	}
}

// Whatever record of a session is damaged, the rest goes in, and what is
// missing is said.
func TestExportGoesOnAfterDamage(t *testing.T) {
	o := analyzetest.Options{Targets: 2, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1, Clean: true}
	whole := export(t, analyzetest.Records(o), t.TempDir())
	total := 0
	for range analyzetest.Records(o) {
		total++
	}
	for k := range total {
		root := t.TempDir()
		done, err := analyze.Export(t.Context(), damaged(o, k), root, analyze.ExportOptions{})
		if k == 0 { // the session itself
			if err == nil || len(files(t, root)) > 0 {
				t.Errorf("without its session: %v, %q", err, files(t, root))
			}
			continue
		}
		if err != nil {
			t.Fatalf("record %d: %v", k, err)
		}
		// a damaged target takes its two batches along, a damaged case too
		missing := whole.Rows["batches"] - done.Rows["batches"]
		if done.Damaged < 1 || !strings.Contains(done.Errors[0].Error(), "bit rot") || missing > 2 || done.Damaged < missing {
			t.Errorf("record %d: %d damaged, %d batches missing, %v", k, done.Damaged, missing, done.Errors)
		}
		if len(files(t, root)) != len(done.Files) {
			t.Errorf("record %d: %q", k, files(t, root))
		}
	}
}

func damaged(o analyzetest.Options, k int) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		i := 0
		for rec := range analyzetest.Records(o) {
			ok := false
			if i == k {
				ok = yield(nil, errors.New("bit rot"))
			} else {
				ok = yield(rec, nil)
			}
			if i++; !ok {
				return
			}
		}
	}
}

func TestExportKeepsTheFirstErrors(t *testing.T) {
	recs := func(yield func(collect.Record, error) bool) {
		yield(session("h"), nil)
		for i := range int64(30) {
			yield(&collect.Batch{BatchID: i}, nil) // of no case
		}
	}
	done := export(t, recs, t.TempDir())
	if done.Damaged != 30 || len(done.Errors) != 20 || !strings.Contains(done.Errors[3].Error(), "batch 3 ") {
		t.Errorf("%d damaged, %d errors: %v", done.Damaged, len(done.Errors), done.Errors)
	}
}

func TestExportRefuses(t *testing.T) {
	bad := session("h")
	bad.ID = "../x"
	for name, recs := range map[string]iter.Seq2[collect.Record, error]{
		"nothing":              records(),
		"no session":           records(&collect.Segment{Segment: 1}),
		"two sessions":         records(session("h"), session("h")),
		"an id that is a path": records(bad),
	} {
		root := t.TempDir()
		if _, err := analyze.Export(t.Context(), recs, root, analyze.ExportOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := files(t, root); len(got) > 0 {
			t.Errorf("%s leaves %q", name, got)
		}
	}
}

func TestExportStopsWithItsContext(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	recs := func(yield func(collect.Record, error) bool) {
		for rec := range analyzetest.Records(analyzetest.Options{}) {
			if n++; n == 20 {
				cancel()
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
	if _, err := analyze.Export(ctx, recs, root, analyze.ExportOptions{}); !errors.Is(err, context.Canceled) || n != 20 {
		t.Errorf("%v after %d records", err, n)
	}
	if got := files(t, root); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

// Any table may be the one that can't be opened or can't get its name: then no
// table has the session, not even from an export before.
func TestExportIsAllOrNothing(t *testing.T) {
	o := analyzetest.Options{Targets: 1, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1}
	for _, table := range analyze.Tables() {
		t.Run(table.Name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(filepath.Join(root, "table="+table.Name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := analyze.Export(t.Context(), analyzetest.Records(o), root, analyze.ExportOptions{}); err == nil {
				t.Error("no error where a folder can't be made")
			}
			if got := files(t, root); len(got) != 1 {
				t.Errorf("left behind: %q", got)
			}

			root = t.TempDir()
			done := export(t, analyzetest.Records(o), root)
			name := filepath.Join(root, done.Files[slices.IndexFunc(done.Files, func(f string) bool { return strings.HasPrefix(f, "table="+table.Name+"/") })])
			if err := errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "in the way"), 0o755)); err != nil {
				t.Fatal(err)
			}
			if _, err := analyze.Export(t.Context(), analyzetest.Records(o), root, analyze.ExportOptions{}); err == nil {
				t.Error("no error where a file can't get its name")
			}
			if got := files(t, root); len(got) != 0 {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

// No goroutine outlives an export, however it ends.
func TestExportEndsItsGoroutine(t *testing.T) {
	root := t.TempDir()
	export(t, analyzetest.Records(analyzetest.Options{Repeats: 1}), root)
	_, err := analyze.Export(t.Context(), records(session("h"), session("h")), root, analyze.ExportOptions{Sync: true})
	if err == nil {
		t.Error("two sessions went in")
	}
	buf := make([]byte, 1<<20)
	for range 100 {
		if all := buf[:runtime.Stack(buf, true)]; !bytes.Contains(all, []byte("analyze.newChunkWriter")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a goroutine of an export is left")
}
