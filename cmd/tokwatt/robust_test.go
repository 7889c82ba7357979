package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// started is the program under way.
type started struct {
	*exec.Cmd
	out, err bytes.Buffer
	done     chan error
}

func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: command(context.Background(), args...)}
	s.begin(t)
	return s
}

// begin starts a program that was made in another way.
func (s *started) begin(t *testing.T) {
	t.Helper()
	s.done = make(chan error, 1)
	s.Stdout, s.Stderr = &s.out, &s.err
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.Wait() }()
	t.Cleanup(func() { syscall.Kill(-s.Process.Pid, syscall.SIGKILL) })
}

// signal sends sig to the whole group, as a terminal does, and returns how
// long the program took to end.
func (s *started) signal(t *testing.T, sig syscall.Signal) time.Duration {
	t.Helper()
	at := time.Now()
	if err := syscall.Kill(-s.Process.Pid, sig); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		t.Fatal("the program did not end")
	}
	return time.Since(at)
}

// hasBatches waits until the store holds n batches, and returns how many.
func hasBatches(t *testing.T, db string, n int) int {
	t.Helper()
	for range 400 {
		if got := batches(t, db); got >= n {
			return got
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("no %d batches in time", n)
	return 0
}

func batches(t *testing.T, db string) int {
	t.Helper()
	r := tokwatt(t, "", "list", "--db", db, "--json")
	var n int
	for _, l := range strings.Split(r.out, "\n") {
		fmt.Sscanf(strings.TrimSpace(l), `"batches": %d,`, &n)
	}
	return n
}

// engines are both kinds of target: another process over HTTP, and our own
// worker, which the same signals reach.
func bothEngines(t *testing.T, db string) map[string][]string {
	common := []string{"collect", "--db", db, "--pp", "64", "--tg", "64", "--repeat", "500", "--pause", "0", "--group-pause", "0"}
	return map[string][]string{
		"server":    append(common[:len(common):len(common)], "--url", serve(t, steady()), "--model", "demo-model"),
		"reference": append(common[:len(common):len(common)], "--engine", "reference"),
	}
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	for _, engine := range []string{"server", "reference"} {
		t.Run(engine, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "t.db")
			s := start(t, bothEngines(t, db)[engine]...)
			hasBatches(t, db, 2)
			took := s.signal(t, syscall.SIGINT)
			if code := s.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit %d: %s", code, &s.err)
			}
			// A second is promised on a machine that has nothing else to do.
			if took > 3*time.Second {
				t.Errorf("took %v to end", took)
			}
			if !strings.Contains(s.out.String(), "TTFT") || !strings.Contains(s.err.String(), "interrupted") {
				t.Errorf("what was measured is not reported: %s%s", &s.out, &s.err)
			}
			got := rows(t, db, "select status, (select count(*) from batches where not warmup) as n from sessions")[0]
			if got["status"] != "interrupted" || got["n"].(float64) < 2 {
				t.Errorf("stored %v", got)
			}
			noWorkerLeft(t)
		})
	}
}

func TestKillLosesTheBatchInFlightOnly(t *testing.T) {
	for _, engine := range []string{"server", "reference"} {
		t.Run(engine, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "t.db")
			s := start(t, bothEngines(t, db)[engine]...)
			seen := hasBatches(t, db, 3)
			syscall.Kill(s.Process.Pid, syscall.SIGKILL) // the program alone: its worker must notice
			<-s.done
			if kept := batches(t, db); kept < seen {
				t.Errorf("%d batches, %d had been seen", kept, seen)
			}
			if r := tokwatt(t, "", "check", "--db", db); r.code != 0 {
				t.Errorf("check: exit %d: %s%s", r.code, r.out, r.err)
			}
			needsSQL(t)
			if r := tokwatt(t, "", "summary", "--db", db); r.code != 0 || !strings.Contains(r.out, "TTFT") {
				t.Errorf("summary: exit %d: %s%s", r.code, r.out, r.err)
			}
			noWorkerLeft(t)
		})
	}
}

// noWorkerLeft holds that no process of this binary outlives its parent.
func noWorkerLeft(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	self, _ := os.Readlink("/proc/self/exe")
	for range 100 {
		left := 0
		exes, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, exe := range exes {
			var pid int
			fmt.Sscanf(exe, "/proc/%d/exe", &pid)
			if at, err := os.Readlink(exe); err == nil && at == self && pid != os.Getpid() {
				left++
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("a worker process is left")
}

func TestSummaryBesideARunningCollect(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	s := start(t, bothEngines(t, db)["server"]...)
	hasBatches(t, db, 2)
	needsSQL(t)
	if r := tokwatt(t, "", "summary", "--db", db); r.code != 0 || !strings.Contains(r.out, "demo-model") {
		t.Errorf("summary: exit %d: %s%s", r.code, r.out, r.err)
	}
	if r := tokwatt(t, "", "status", "--db", db); !strings.Contains(r.out, "of 500 batches") {
		t.Errorf("status: %s%s", r.out, r.err)
	}
	if r := tokwatt(t, "", "delete", "--db", db, "--yes", "last"); r.code != exitUsage || !strings.Contains(r.err, "being measured") {
		t.Errorf("delete: exit %d: %s%s", r.code, r.out, r.err)
	}
	s.signal(t, syscall.SIGINT)
}

func TestTwoCollectorsOnOneStore(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	url := serve(t, steady())
	args := []string{"collect", "--db", db, "--url", url, "--model", "demo-model", "--pp", "32", "--tg", "8",
		"--repeat", "20", "--pause", "0", "--group-pause", "0"}
	a, b := start(t, args...), start(t, args...)
	for _, s := range []*started{a, b} {
		if err := <-s.done; err != nil {
			t.Errorf("%v: %s", err, &s.err)
		}
	}
	got := rows(t, db, "select count(*) as n, count(*) filter (where status = 'complete') as good from sessions")[0]
	if fmt.Sprint(got) != "map[good:2 n:2]" {
		t.Errorf("sessions %v", got)
	}
	if n := rows(t, db, "select count(*) as n from batches where not warmup")[0]["n"]; n != 40.0 {
		t.Errorf("%v batches, want 40", n)
	}
}

// TestTruncatedStore cuts a store at every 4 KiB: each command ends with a
// sentence and the exit code for it, or works on what is there.
func TestTruncatedStore(t *testing.T) {
	whole, err := os.ReadFile(fixture(t))
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "cut.db")
	for size := 0; size < len(whole); size += 4096 * 8 {
		if err := os.WriteFile(db, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"list"}, {"show"}, {"check"}} {
			r := tokwatt(t, "", append(args, "--db", db)...)
			if r.code != exitStore && r.code != exitOK || strings.Contains(r.err, "goroutine") {
				t.Errorf("%v of %d bytes: exit %d: %s", args, size, r.code, r.err)
			}
			if r.code == exitStore && !strings.HasPrefix(r.err, "tokwatt: ") {
				t.Errorf("%v of %d bytes: no sentence: %q", args, size, r.err)
			}
		}
	}
}
