package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

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
