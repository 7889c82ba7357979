package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tokwatt/analyze/duck"
)

// TestOutGoesWhereItMay holds what --out may replace: a file, and what a link
// leads to; not the store, a folder, or a device.
func TestOutGoesWhereItMay(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	dir := t.TempDir()
	before, _ := os.ReadFile(db)
	ask := func(out string, more ...string) result {
		return tokwatt(t, "", append([]string{"query", "--db", db, "--out", out, "select 1 as one"}, more...)...)
	}
	for _, format := range []string{"csv", "parquet"} {
		if r := ask(db, "--format", format); r.code != exitUsage || !strings.Contains(r.err, "the store itself") {
			t.Errorf("onto the store: exit %d: %s", r.code, r.err)
		}
		if r := ask(dir, "--format", format); r.code != exitUsage || !strings.Contains(r.err, "folder") {
			t.Errorf("onto a folder: exit %d: %s", r.code, r.err)
		}
	}
	if after, _ := os.ReadFile(db); !bytes.Equal(before, after) {
		t.Fatal("the store was written over")
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	if r := ask(fifo, "--format", "csv"); r.code != 0 || <-got != "one\n1\n" {
		t.Errorf("through a pipe: exit %d: %s", r.code, r.err)
	}
	if info, err := os.Stat(fifo); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Error("the pipe was replaced")
	}
	if r := ask(fifo, "--format", "parquet"); r.code != exitUsage {
		t.Errorf("Parquet through a pipe: exit %d", r.code)
	}
	file, link := filepath.Join(dir, "real.csv"), filepath.Join(dir, "link.csv")
	os.WriteFile(file, []byte("old"), 0o600)
	os.Symlink(file, link)
	if r := ask(link); r.code != 0 {
		t.Errorf("through a link: exit %d: %s", r.code, r.err)
	}
	if b, _ := os.ReadFile(file); string(b) != "one\n1\n" {
		t.Errorf("behind the link: %q", b)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

// TestNothingIsMadeBesideNoStore: a mistyped --db leaves no folder.
func TestNothingIsMadeBesideNoStore(t *testing.T) {
	needsSQL(t)
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, filepath.Join(dir, "missing.db"), filepath.Join(dir, "no", "missing.db")} {
		for _, args := range [][]string{{"query", "select 1"}, {"summary"}, {"compare", "engine=a", "engine=b"}} {
			if r := tokwatt(t, "", append(args, "--db", path)...); r.code != exitStore {
				t.Errorf("%v on %s: exit %d: %s", args, path, r.code, r.err)
			}
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestStoreMustBeAFile holds that nothing else is opened, or waited for.
func TestStoreMustBeAFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, fifo, os.DevNull} {
		for _, args := range [][]string{{"list"}, {"check"}, {"collect", "--engine", "reference", "--pp", "8", "--tg", "2"}} {
			if r := tokwatt(t, "", append(args, "--db", path)...); r.code != exitStore || !strings.HasPrefix(r.err, "tokwatt: ") {
				t.Errorf("%v on %s: exit %d: %s", args, path, r.code, r.err)
			}
		}
	}
}

// TestReaderThatGoesAway closes the pipe that stdout is: that ends the
// program quietly, with nothing left behind.
func TestReaderThatGoesAway(t *testing.T) {
	needsSQL(t)
	db, tmp := fixture(t), t.TempDir()
	for _, args := range [][]string{{"metrics"}, {"query", "--format", "csv", "select * from chunks"}, {"show", "--json"}} {
		cmd := command(t.Context(), append(args, "--db", db)...)
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		io.ReadFull(r, make([]byte, 10))
		r.Close()
		if err := cmd.Wait(); err != nil || errs.Len() > 0 {
			t.Errorf("%v: %v: %s", args, err, &errs)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLostOutputIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	defer full.Close()
	for _, args := range [][]string{{"metrics"}, {"list"}, {"version", "--json"}, {"query", "select 1"}, {"query", "--format", "arrow", "select 1"}} {
		if args[0] == "query" && !duck.Available {
			continue
		}
		cmd := command(t.Context(), append(args, "--db", fixture(t))...)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &errs
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitFailures || strings.Count(errs.String(), "output lost") != 1 {
			t.Errorf("%v: %v: %s", args, err, &errs)
		}
	}
}

func TestHangupKeepsWhatWasMeasured(t *testing.T) {
	// What is caught here is not ignored by a child, even where this process was
	// started to ignore it.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	db := filepath.Join(t.TempDir(), "t.db")
	s := start(t, bothEngines(t, db)["server"]...)
	hasBatches(t, db, 2)
	if took := s.signal(t, syscall.SIGHUP); took > 3*time.Second || s.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("exit %d after %v: %s", s.ProcessState.ExitCode(), took, &s.err)
	}
}

// TestNohup: who ignores the hangup before, as nohup does, measures on.
func TestNohup(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	args := append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, os.Args[0]}, bothEngines(t, db)["server"]...)
	s := started{Cmd: command(t.Context())}
	s.Path, s.Args = "/bin/sh", append([]string{"sh"}, args...)
	s.begin(t)
	n := hasBatches(t, db, 1)
	if err := syscall.Kill(s.Process.Pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	hasBatches(t, db, n+20)
	s.signal(t, syscall.SIGTERM)
	if code := s.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d: %s", code, &s.err)
	}
}

func TestControlCharactersStayOutOfTheTerminal(t *testing.T) {
	if got := harmless("a\x1b[31mb\x07\r\u009b1mc\n\td"); strings.ContainsAny(got, "\x1b\x07\r\u009b") || !strings.HasSuffix(got, "\n\td") {
		t.Errorf("%q", got)
	}
	var b bytes.Buffer
	w := checkedWriter{w: &b, plain: true}
	io.WriteString(&w, "x\x1b]0;title\x07y")
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Errorf("%q", b.String())
	}
}
