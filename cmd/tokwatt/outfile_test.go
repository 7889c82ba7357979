package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestResultsFileGoesWhereItMay: what a results file may replace, and that
// what it may not is found before anything is measured.
func TestResultsFileGoesWhereItMay(t *testing.T) {
	url, dir := serve(t, steady()), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"old": 0o604, "readonly": 0o400, "behind": 0o640} {
		if err := os.WriteFile(at(name), []byte("old"), mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(at(name), mode)
	}
	for link, to := range map[string]string{"link": "behind", "dangling": "link2", "link2": "made", "round": "round", "nowhere": "no/file"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		out, say string
		mode     os.FileMode // of the file that is written then; 0: refused
		file     string
	}{
		{"old", "", 0o604, "old"},
		{"link", "", 0o640, "behind"},
		{"dangling", "", 0o644, "made"},
		{"readonly", "read-only", 0, ""},
		{"round", "symbolic links", 0, ""},
		{"nowhere", "no folder", 0, ""},
		{"fifo", "nobody reads", 0, ""},
		{".", "folder", 0, ""},
		{"old/x", "not a directory", 0, ""},
		{"no/x", "no folder", 0, ""},
		{strings.Repeat("x", 300), "too long", 0, ""},
		{"t.db", "the store itself", 0, ""},
	} {
		before := len(tokwatt(t, "", "list", "--db", at("t.db"), "--json").out)
		if c.out == "t.db" {
			os.Remove(at("t.db")) // a store that is still to be made is one
			before = 0
		}
		began := time.Now()
		r := tokwatt(t, "", "collect", "--db", at("t.db"), "--url", url, "--model", "demo-model", "--pp", "32", "--tg", "4",
			"--repeat", "1", "--pause", "0", "--group-pause", "0", "--json-out", at(c.out))
		want := exitOK
		if c.mode == 0 {
			want = exitUsage
		}
		if r.code != want || !strings.Contains(r.err, c.say) {
			t.Errorf("%s: exit %d after %v, want %d and %q: %s", c.out, r.code, time.Since(began), want, c.say, r.err)
		}
		if c.mode == 0 {
			if after := len(tokwatt(t, "", "list", "--db", at("t.db"), "--json").out); after != before {
				t.Errorf("%s: something was measured", c.out)
			}
			continue
		}
		info, err := os.Lstat(at(c.file))
		if err != nil || info.Mode() != c.mode || info.Size() < 100 {
			t.Errorf("%s: %v, %v, want mode %v", c.out, info, err, c.mode)
		}
	}
	if info, err := os.Lstat(at("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	if left, _ := filepath.Glob(at(".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestPipeIsHeldForItsReader: from before the run until the results are in it.
func TestPipeIsHeldForItsReader(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	if _, r := collected(t, serve(t, steady()), "--json-out", fifo); r.code != 0 || !strings.Contains(<-got, `"runs"`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// TestStalledReaderDoesNotHoldUs: one signal ends what waits for a reader.
func TestStalledReaderDoesNotHoldUs(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	db := filepath.Join(t.TempDir(), "t.db")
	s := start(t, "collect", "--db", db, "--url", serve(t, steady()), "--model", "demo-model", "--pp", "32", "--tg", "2",
		"--concurrency", "64", "--repeat", "4", "--pause", "0", "--group-pause", "0", "--json-out", fifo)
	for n := 0; n < 100; time.Sleep(50 * time.Millisecond) {
		if r := tokwatt(t, "", "list", "--db", db); strings.Contains(r.out, "complete") {
			break
		}
		n++
	}
	time.Sleep(300 * time.Millisecond)
	select {
	case <-s.done:
		t.Fatalf("the pipe took it all: %s", &s.err)
	default:
	}
	if took := s.signal(t, syscall.SIGTERM); took > 5*time.Second || !strings.Contains(s.err.String(), "could not be written") {
		t.Errorf("after %v: exit %d: %s", took, s.ProcessState.ExitCode(), &s.err)
	}
}

// TestResultsFileLostInTheEnd: all is measured and stored, which is no bad
// usage.
func TestResultsFileLostInTheEnd(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full on this system")
	}
	db, r := collected(t, serve(t, steady()), "--json-out", "/dev/full")
	if r.code != exitFailures || !strings.Contains(r.err, "/dev/full could not be written: no space") || !strings.Contains(r.err, "in the store") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if !strings.Contains(r.out, "TTFT") {
		t.Errorf("the closing lines are missing: %s", r.out)
	}
	if l := tokwatt(t, "", "list", "--db", db); !strings.Contains(l.out, "complete") {
		t.Errorf("%s", l.out)
	}
}
