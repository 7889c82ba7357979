package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tokwatt/collect/script"
)

// TestReadOnlyDisk: what can't be written is found before a server is asked for
// anything, and said in one sentence.
func TestReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no tmpfs: %v", err)
		}
		t.Skipf("mounting a tmpfs needs root: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	srv, err := script.Listen("127.0.0.1:0", steady())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	collect := []string{"collect", "--url", srv.URL(), "--model", "demo-model", "--pp", "32", "--tg", "4", "--repeat", "1", "--pause", "0", "--group-pause", "0", "--db"}
	old, fresh := filepath.Join(dir, "old.db"), filepath.Join(dir, "a", "fresh.db")
	if r := tokwatt(t, "", append(collect, old)...); r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	asked := len(srv.Log())
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitStore, append(collect, old)},
		{exitStore, append(collect, fresh)},
		{exitStore, []string{"collect", "--db", old, "--resume", "last"}},
		{exitStore, []string{"delete", "--db", old, "--yes", "last"}},
		{exitUsage, append(collect, filepath.Join(t.TempDir(), "t.db"), "--json-out", filepath.Join(dir, "r.json"))},
	} {
		r := tokwatt(t, "", c.args...)
		if r.code != c.code || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "read-only file system") {
			t.Errorf("%v: exit %d, want %d: %s", c.args, r.code, c.code, r.err)
		}
	}
	if n := len(srv.Log()) - asked; n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if r := tokwatt(t, "", "list", "--db", old); r.code != 0 {
		t.Errorf("reading: exit %d: %s", r.code, r.err)
	}
}

// TestFullDisk collects onto a file system of two MiB.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no tmpfs: %v", err)
		}
		t.Skipf("mounting a tmpfs needs root: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	db := filepath.Join(dir, "t.db")
	r := tokwatt(t, "", "collect", "--db", db, "--url", serve(t, steady()), "--model", "demo-model", "--prompt", "x", "--tg", "300",
		"--concurrency", "64", "--repeat", "500", "--pause", "0", "--group-pause", "0")
	if r.code != exitStore || !strings.Contains(r.err, db) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if c := tokwatt(t, "", "check", "--db", db); c.code != 0 || strings.HasPrefix(c.out, "0 ") {
		t.Errorf("what was committed before: exit %d: %s%s", c.code, c.out, c.err)
	}
}
