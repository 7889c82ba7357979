package store

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"tokwatt/collect"
)

var exhaustive = flag.Bool("exhaustive", false, "flip bytes at all places, not at 150")

// fastDir is a folder in memory where there is one: the tests of damage write
// thousands of small files, and none of them needs to reach a disk.
func fastDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "tokwatt-store-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// small makes a store of three sessions with a few hundred values, so that
// its trees have branches, and returns what is in it.
func small(t *testing.T) (file []byte, ids []string, want map[string][]collect.Record) {
	t.Helper()
	s := temp(t)
	want = map[string][]collect.Record{}
	for range 3 {
		ids = append(ids, newID(t))
	}
	for n := range 12 {
		for i, id := range ids {
			var recs []collect.Record
			if n == 0 {
				recs = append(recs, typicalSession(id), &collect.Segment{Segment: 1, PID: 7, PlannedBatches: 11})
			}
			recs = append(recs, typicalBatch(int64(n+1), 2+i, 40+300*(n%3)))
			put(t, s, id, recs...)
			want[id] = append(want[id], recs...)
		}
	}
	if err := s.PutCalibration(t.Context(), "host", `{"levels":[]}`); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return file, ids, want
}

// subset fails unless got is a subsequence of want.
func subset(got, want []collect.Record) error {
	i := 0
	for _, rec := range got {
		for i < len(want) && !reflect.DeepEqual(rec, want[i]) {
			i++
		}
		if i == len(want) {
			return fmt.Errorf("a %T was never written, or twice given", rec)
		}
		i++
	}
	return nil
}

// damaged checks what a damaged file gives: a subset of what was written, and
// an error where something lacks. It returns how many records came.
func damaged(t *testing.T, name string, s *Store, ids []string, want map[string][]collect.Record) (n int, whole bool) {
	t.Helper()
	whole = true
	for _, id := range ids {
		var got []collect.Record
		errs := 0
		for rec, err := range s.Records(t.Context(), id) {
			if err == nil {
				got = append(got, rec)
				continue
			}
			errs++
			sayable(t, name, err)
		}
		if err := subset(got, want[id]); err != nil {
			t.Errorf("%s: session %s: %v", name, id, err)
		}
		if len(got) < len(want[id]) && errs == 0 {
			t.Errorf("%s: %d of %d records of %s, and no error", name, len(got), len(want[id]), id)
		}
		n += len(got)
		whole = whole && errs == 0
	}
	return n, whole
}

// sayable fails unless err is one of the errors that the package promises.
func sayable(t *testing.T, name string, err error) {
	t.Helper()
	var file *FileError
	var record *RecordError
	var unknown *UnknownError
	if !errors.As(err, &file) && !errors.As(err, &record) && !errors.As(err, &unknown) {
		t.Errorf("%s: unexpected error %T: %v", name, err, err)
	}
}

// everything runs all that reads a store, and a Put, on a damaged one.
func everything(t *testing.T, name string, s *Store, ids []string, want map[string][]collect.Record) {
	t.Helper()
	n, whole := damaged(t, name, s, ids, want)
	if _, err := s.Sessions(t.Context()); err != nil {
		sayable(t, name, err)
	}
	if _, err := s.Find(t.Context(), Last); err != nil {
		sayable(t, name, err)
	}
	to := filepath.Join(filepath.Dir(s.Path()), "saved.db")
	defer os.Remove(to)
	report, err := s.RepairTo(t.Context(), to)
	if err != nil {
		sayable(t, name, err)
	} else if !whole && report.OK() {
		t.Errorf("%s: Records found damage, Check none", name)
	}
	if err == nil && report.Records < int64(n) {
		t.Errorf("%s: %d records can be read, %d saved: %v", name, n, report.Records, report.Problems)
	}
	if err == nil && report.Records > 0 {
		saved := Open(to, Options{})
		after, err := saved.Check(t.Context())
		if err != nil || !after.OK() || after.Batches != report.Batches {
			t.Errorf("%s: the repaired store: %v %v", name, err, after.Problems)
		}
		for _, id := range ids {
			var batches, lost int64
			for rec, err := range saved.Records(t.Context(), id) {
				if errors.As(err, new(*UnknownError)) {
					break // nothing of it could be saved
				} else if err != nil {
					t.Errorf("%s: the repaired store: %v", name, err)
				}
				if b, ok := rec.(*collect.Batch); ok && subset([]collect.Record{b}, want[id]) != nil {
					t.Errorf("%s: batch %d was changed by the repair", name, b.BatchID)
				}
				switch rec.(type) {
				case *collect.Batch:
					batches++
				case *collect.Lost:
					lost++
				}
			}
			i := slices.IndexFunc(report.Losses, func(l Loss) bool { return l.Session == id })
			if batches > 0 && (i >= 0) != (lost == 1) || lost > 1 {
				t.Errorf("%s: session %s says %d times that it lost something, the report %v", name, id, lost, report.Losses)
			} else if had := int64(12); i >= 0 && (report.Losses[i].Batches != batches || report.Losses[i].Lost > had-batches) {
				t.Errorf("%s: %d of %d batches saved, the report says %v", name, batches, had, report.Losses[i])
			}
		}
	}
	if err := s.Put(t.Context(), ids[1], typicalBatch(99, 1, 5)); err != nil {
		sayable(t, name, err)
	}
}

func TestCutShort(t *testing.T) {
	file, ids, want := small(t)
	path := filepath.Join(fastDir(t), "cut.db")
	s := Open(path, Options{})
	used := int64(len(file))
	for size := int64(0); size < used; size += 4096 {
		if err := os.WriteFile(path, file[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("cut at %d of %d", size, used)
		_, err := s.Sessions(t.Context())
		if err != nil {
			sayable(t, name, err)
		} else if n, _ := damaged(t, name, s, ids, want); n != 3*14 {
			t.Errorf("%s: no error, and %d records", name, n)
		}
		everything(t, name, s, ids, want)
	}
}

func TestFlippedBytes(t *testing.T) {
	file, ids, want := small(t)
	r := seeded(t)
	path := filepath.Join(fastDir(t), "flipped.db")
	s := Open(path, Options{})
	var places []int
	for page := 0; page < len(file); page += 4096 {
		// Headers and element tables are where it hurts most.
		for range 6 {
			places = append(places, page+r.IntN(16), page+16+r.IntN(96), page+r.IntN(4096))
		}
	}
	n := len(places)
	if !*exhaustive {
		n = 150
	}
	r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, at := range places[:n] {
		changed := bytes.Clone(file)
		changed[at] ^= byte(1 << r.UintN(8))
		if r.UintN(4) == 0 {
			changed[at] = byte(r.UintN(256))
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		everything(t, fmt.Sprintf("byte %d is %#x, not %#x", at, changed[at], file[at]), s, ids, want)
		if t.Failed() {
			return
		}
	}
}

// A branch that points to itself, or to its parent, must not be followed for
// ever: bbolt would.
func TestPointers(t *testing.T) {
	file, ids, want := small(t)
	path := filepath.Join(fastDir(t), "pointers.db")
	s := Open(path, Options{})
	branches := 0
	for page := 2; (page+1)*4096 <= len(file); page++ {
		b := file[page*4096:]
		if b[8] != 1 || b[0] != byte(page) {
			continue
		}
		branches++
		for i := range min(int(b[10]), 4) {
			for _, to := range []byte{byte(page), 2, 3, b[16+16*(i+1)+8], 255} {
				changed := bytes.Clone(file)
				changed[page*4096+16+16*i+8] = to
				if err := os.WriteFile(path, changed, 0o600); err != nil {
					t.Fatal(err)
				}
				everything(t, fmt.Sprintf("page %d, child %d is page %d", page, i, to), s, ids, want)
			}
		}
	}
	if branches == 0 {
		t.Fatal("the store has no branch pages: make it greater")
	}
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": "", "text": "not a store\n", "zeros": string(make([]byte, 1<<16))} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Open(path, Options{})
		id := newID(t)
		_, err := s.Sessions(t.Context())
		_, err2 := s.Check(t.Context())
		for _, err := range []error{err, err2, s.Put(t.Context(), id, typicalSession(id)), s.Delete(t.Context(), id), s.Compact(t.Context())} {
			if !errors.Is(err, ErrForeign) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("%s was changed", name)
		}
	}
	if _, err := Open(dir, Options{}).Sessions(t.Context()); !errors.Is(err, ErrForeign) {
		t.Errorf("folder: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none"), Options{}).Sessions(t.Context()); !errors.Is(err, ErrMissing) {
		t.Errorf("no file: %v", err)
	}
}
