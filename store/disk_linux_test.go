package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"tokwatt/collect"
)

// TestFullDisk writes to a file system of one megabyte until it is full.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no tmpfs: %v", err)
		}
		t.Skipf("needs to mount a small tmpfs, which takes root: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	s := Open(filepath.Join(dir, "tokwatt.db"), Options{})
	id := newID(t)
	want := []collect.Record{typicalSession(id)}
	put(t, s, id, want[0])
	full := 0
	for n := int64(1); full < 5; n++ {
		b := typicalBatch(n, 1+int(n*31%9), 200)
		err := s.Put(t.Context(), id, b)
		switch {
		case err == nil:
			want = append(want, b)
		case errors.Is(err, syscall.ENOSPC) && strings.Contains(err.Error(), s.Path()):
			full++
		default:
			t.Fatal(err)
		}
		if err != nil && !reflect.DeepEqual(read(t, s, id), want) {
			t.Fatalf("after a full disk %d records are not what was put", len(want))
		}
		if n > 1000 {
			t.Fatal("the disk does not fill")
		}
	}
	clean(t, s)
	if len(want) < 10 {
		t.Errorf("one megabyte holds %d records only", len(want))
	}
	if err := s.Compact(t.Context()); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	clean(t, s)

	// A disk that is full from the start.
	full2 := filepath.Join(dir, "second.db")
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := Open(full2, Options{}).Put(t.Context(), id, want[0]); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("creating on a full disk: %v", err)
	}
	if _, err := os.Stat(full2); err == nil {
		t.Error("half a store was left on a full disk")
	}
}
