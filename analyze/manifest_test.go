package analyze_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

var small = analyzetest.Options{Targets: 1, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1}

func manifest(t *testing.T, root, id string) *analyze.Manifest {
	t.Helper()
	m, err := analyze.ReadManifest(root, id)
	if err != nil || m == nil {
		t.Fatalf("manifest of %s: %v, %v", id, m, err)
	}
	return m
}

// damages are the ways in which a file goes bad.
var damages = map[string]func(path string) error{
	"removed":   os.Remove,
	"empty":     func(path string) error { return os.WriteFile(path, nil, 0o644) },
	"truncated": func(path string) error { return os.Truncate(path, 50) },
	"grown": func(path string) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("x")
		return errors.Join(err, f.Close())
	},
	"garbage": func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o644) },
	"flipped": flip,
	"a folder": func(path string) error {
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
	},
	"a link": func(path string) error {
		return errors.Join(os.Rename(path, path+".away"), os.Symlink(path+".away", path))
	},
}

// flip changes a byte in the middle.
func flip(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/3] ^= 0x40
	time.Sleep(20 * time.Millisecond) // beyond the file system's clock tick
	return os.WriteFile(path, b, 0o644)
}

// TestManifestSeesDamage: whatever happens to the file of whichever table.
func TestManifestSeesDamage(t *testing.T) {
	for name, harm := range damages {
		root := t.TempDir()
		done := export(t, analyzetest.Records(small), root)
		for _, f := range done.Files {
			if err := manifest(t, root, done.SessionID).Verify(root); err != nil {
				t.Fatalf("of what was just written: %v", err)
			}
			if err := harm(filepath.Join(root, f)); err != nil {
				t.Fatal(err)
			}
			err := manifest(t, root, done.SessionID).Verify(root)
			var fault *analyze.FileFault
			if !errors.As(err, &fault) || fault.Path != f {
				t.Errorf("%s %s: %v", name, f, err)
			}
			if ids, err := analyze.DamagedSessions(t.Context(), root); err != nil || len(ids) != 1 {
				t.Errorf("%s %s: damaged are %q, %v", name, f, ids, err)
			}
			if err := os.RemoveAll(filepath.Join(root, f)); err != nil {
				t.Fatal(err)
			}
			export(t, analyzetest.Records(small), root) // mends it
		}
	}
}

func TestManifestItselfDamaged(t *testing.T) {
	root := t.TempDir()
	done := export(t, analyzetest.Records(small), root)
	path := filepath.Join(root, ".sessions", done.SessionID+".json")
	for _, text := range []string{"", "{", "{}", "null", `{"session_id":"` + done.SessionID + `"}`,
		`{"session_id":"` + done.SessionID + `","files":[{"path":"../../x"}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := analyze.ReadManifest(root, done.SessionID); err == nil {
			t.Errorf("%q passes for %+v", text, m)
		}
	}
}

// TestManifestOfACopy: new times, the same bytes.
func TestManifestOfACopy(t *testing.T) {
	root, copied := t.TempDir(), t.TempDir()
	done := export(t, analyzetest.Records(small), root)
	if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	for _, f := range done.Files {
		if err := os.Chtimes(filepath.Join(copied, f), later, later); err != nil {
			t.Fatal(err)
		}
	}
	if err := manifest(t, copied, done.SessionID).Verify(copied); err != nil {
		t.Error(err)
	}
}

func TestManifestIsCurrent(t *testing.T) {
	root := t.TempDir()
	done, err := analyze.Export(t.Context(), analyzetest.Records(small), root, analyze.ExportOptions{Records: 7, Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	m := manifest(t, root, done.SessionID)
	if !m.Current(7) || m.Current(8) || m.Records != 7 {
		t.Errorf("%+v", m)
	}
	m.Formula--
	if m.Current(7) {
		t.Error("an older formula is current")
	}
	for _, f := range m.Files {
		table, _, _ := strings.Cut(strings.TrimPrefix(f.Path, "table="), "/")
		if f.Rows != done.Rows[table] {
			t.Errorf("%s: %d rows, want %d", f.Path, f.Rows, done.Rows[table])
		}
	}
}

func TestStatusOfADeadSession(t *testing.T) {
	for _, dead := range []bool{false, true} {
		for _, ended := range []bool{false, true} {
			recs := []collect.Record{session("h"), &collect.Segment{Segment: 1}}
			if ended {
				recs = append(recs, &collect.End{At: time.Now(), Status: collect.StatusComplete})
			}
			root := t.TempDir()
			done, err := analyze.Export(t.Context(), records(recs...), root, analyze.ExportOptions{Dead: dead})
			if err != nil {
				t.Fatal(err)
			}
			table := read(t, root, done, "sessions")
			value := func(name string) any { return cell(table.Column(table.Schema().FieldIndices(name)[0]), 0) }
			want := any(nil)
			if ended {
				want = "complete"
			} else if dead {
				want = "interrupted"
			}
			if got := value("status"); got != want {
				t.Errorf("dead %v, ended %v: status %v, want %v", dead, ended, got, want)
			}
			if got := value("ended_at"); (got != nil) != ended {
				t.Errorf("dead %v, ended %v: ended_at %v", dead, ended, got)
			}
		}
	}
}

// TestClean leaves the files of the sessions that are to stay, and no other.
func TestClean(t *testing.T) {
	root := t.TempDir()
	var ids []string
	for o := range analyzetest.Fleet(3, 1, small) {
		ids = append(ids, export(t, analyzetest.Records(o), root).SessionID)
	}
	stays := manifest(t, root, ids[1])
	stray := filepath.Join(root, filepath.FromSlash(stays.Files[0].Path))
	for _, name := range []string{filepath.Join(filepath.Dir(stray), "copy.parquet"), filepath.Join(filepath.Dir(stray), ".x.tmp"),
		filepath.Join(root, ".lock")} {
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := analyze.Clean(root, []*analyze.Manifest{stays}); err != nil {
		t.Fatal(err)
	}
	if err := stays.VerifyBytes(root); err != nil {
		t.Error(err)
	}
	if got := files(t, root); len(got) != len(stays.Files)+1 { // and .lock
		t.Errorf("left: %q", got)
	}
	for _, id := range []string{ids[0], ids[2]} {
		if m, err := analyze.ReadManifest(root, id); m != nil || err != nil {
			t.Errorf("%s still has a manifest (%v)", id, err)
		}
	}
	if err := analyze.Clean(filepath.Join(root, "none"), nil); err != nil {
		t.Error(err)
	}
}

func BenchmarkVerify(b *testing.B) {
	root := b.TempDir()
	var ids []string
	for o := range analyzetest.Fleet(1, 1000, small) {
		done, err := analyze.Export(b.Context(), analyzetest.Records(o), root, analyze.ExportOptions{})
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, done.SessionID)
	}
	for b.Loop() {
		var keep []*analyze.Manifest
		for _, id := range ids {
			m, err := analyze.ReadManifest(root, id)
			if err == nil {
				err = m.Verify(root)
			}
			if err != nil {
				b.Fatal(err)
			}
			keep = append(keep, m)
		}
		if err := analyze.Clean(root, keep); err != nil {
			b.Fatal(err)
		}
	}
}
