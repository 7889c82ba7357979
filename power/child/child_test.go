package child_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tokwatt/power"
	"tokwatt/power/child"
)

// number makes one sample of a line that is a number.
func number(at time.Time, line []byte) ([]power.Sample, error) {
	v, err := strconv.ParseFloat(string(line), 64)
	if err != nil {
		return nil, err
	}
	return []power.Sample{{Value: v, End: at}}, nil
}

func sh(script string) []string { return []string{"sh", "-c", script} }

func start(t *testing.T, script string) *child.Stream {
	t.Helper()
	s, err := child.Start(sh(script), bufio.ScanLines, number)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within 20 s: " + what)
		}
	}
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ") // a zombie has ended; no /proc: no way to tell
}

func TestRecordsAreStampedAndKept(t *testing.T) {
	before := time.Now()
	s := start(t, "echo 1; echo 2; sleep 60")
	first, err := s.Peek(patient(t))
	if err != nil || first[0].Value != 1 {
		t.Fatalf("first: %v, %v", first, err)
	}
	var got []power.Sample
	eventually(t, "two samples", func() bool {
		more, err := s.Take()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
		return len(got) == 2
	})
	if got[0].End.Before(before) || got[1].End.Before(got[0].End) || got[1].End.After(time.Now()) {
		t.Errorf("stamps %v", got)
	}
	if more, err := s.Take(); more != nil || err != nil {
		t.Errorf("nothing new: %v, %v", more, err)
	}
}

// Peek after Take waits for what comes next.
func TestPeekAgain(t *testing.T) {
	s := start(t, "echo 1; read x; sleep 0.2; echo 2; sleep 60")
	for want := 1.0; want <= 2; want++ {
		if got, err := s.Peek(patient(t)); err != nil || got[0].Value != want {
			t.Fatalf("%v, %v", got, err)
		}
		if got, err := s.Take(); err != nil || len(got) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
	}
}

func TestEnd(t *testing.T) {
	s := start(t, "echo 7; echo a first line >&2; echo no such sensor >&2; exit 3")
	eventually(t, "the end", s.Ended)
	if got, err := s.Take(); len(got) != 1 || err != nil {
		t.Fatalf("what it sent before its end: %v, %v", got, err)
	}
	_, err := s.Take()
	var end *child.EndError
	if !errors.As(err, &end) || end.Stderr != "a first line\nno such sensor" {
		t.Fatalf("%#v", err)
	}
	if want := "sh has ended (exit status 3): no such sensor"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

func TestRecordThatCantBeRead(t *testing.T) {
	s := start(t, "echo one; sleep 60")
	eventually(t, "the parser's error", func() bool { _, err := s.Take(); return err != nil })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Peek(ctx); err == nil || !strings.Contains(err.Error(), "one") {
		t.Errorf("Peek: %v", err)
	}
}

func TestPeekIsBoundByItsContext(t *testing.T) {
	s := start(t, "sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Peek(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestNoSuchProgram(t *testing.T) {
	if _, err := child.Start([]string{"/there/is/no/such"}, bufio.ScanLines, number); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := child.Start(nil, bufio.ScanLines, number); err == nil {
		t.Error("no program started")
	}
}

// A record without an end would otherwise fill the memory.
func TestEndlessRecord(t *testing.T) {
	s := start(t, "while :; do printf '%065536d' 0; done")
	eventually(t, "the end", s.Ended)
	if _, err := s.Take(); !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsTheGroup(t *testing.T) {
	for name, script := range map[string]string{
		"obedient":        `sleep 60 & echo $!; wait`,
		"refuses SIGTERM": `trap '' TERM; sleep 60 & echo $!; wait`,
		"has left":        `sleep 60 & echo $!; exec >&-; exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, script)
			first, err := s.Peek(patient(t))
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("Close took %v", took)
			}
			if err := s.Close(); err != nil {
				t.Errorf("again: %v", err)
			}
			eventually(t, "the end of what it started", func() bool { return !alive(int(first[0].Value)) })
			if alive(s.Pid()) {
				t.Error("the program itself is alive")
			}
		})
	}
}

// Nobody takes the samples: the newest stay, in bounded memory.
func TestNobodyTakes(t *testing.T) {
	s, err := child.Start(sh("yes 1 | head -n 300000; echo 2; sleep 60"), bufio.ScanLines, number)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	eventually(t, "the last sample", func() bool {
		first, err := s.Peek(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		n = max(n, len(first))
		return first[len(first)-1].Value == 2
	})
	if n > 1<<16 {
		t.Errorf("%d samples were kept", n)
	}
}

func handles(t *testing.T) int {
	t.Helper()
	dir := "/proc/self/fd"
	if runtime.GOOS == "darwin" {
		dir = "/dev/fd"
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestNothingLeaks(t *testing.T) {
	once := func() {
		s, err := child.Start(sh("echo 1; exec sleep 60"), bufio.ScanLines, number)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Peek(patient(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if alive(s.Pid()) {
			t.Fatal("a process is left")
		}
		if _, err := child.Run(t.Context(), "echo"); err != nil {
			t.Fatal(err)
		}
	}
	once()
	goroutines, fds := runtime.NumGoroutine(), handles(t)
	for range 20 {
		once()
	}
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines })
	if got := handles(t); got > fds {
		t.Errorf("%d handles, %d before", got, fds)
	}
}

func TestRun(t *testing.T) {
	out, err := child.Run(t.Context(), "printf", "a b")
	if string(out) != "a b" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	_, err = child.Run(t.Context(), sh("echo no >&2; exit 1")...)
	if err == nil || err.Error() != "sh has ended (exit status 1): no" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	begun := time.Now()
	if _, err = child.Run(ctx, "sh", "-c", `sleep 60 & echo $! > "$0"; wait`, pidFile); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if pid, err := os.ReadFile(pidFile); err == nil && len(pid) > 1 { // it may have been killed before it wrote
		n, _ := strconv.Atoi(strings.TrimSpace(string(pid)))
		eventually(t, "the end of what it started", func() bool { return !alive(n) })
	}
}

const ownerEnv = "TOKWATT_TEST_OWNER"

// TestMain is also the process that TestKilled kills.
func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) == "" {
		os.Exit(m.Run())
	}
	s, err := child.Start(sh("while :; do echo 1; sleep 0.05; done"), bufio.ScanLines, number)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Pid())
	time.Sleep(time.Minute)
}

func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(self)
	owner.Env = append(os.Environ(), ownerEnv+"=1")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(line)
	}
	if !alive(pid) {
		t.Fatal("the child does not run")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	eventually(t, "the end of the child of a killed process", func() bool { return !alive(pid) })
}
