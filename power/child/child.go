// Package child runs a program that streams readings, turns its records into
// samples, and ends it: within bounds, with all that it has started, and even
// where this process is killed and can end nothing.
//
//   - A [Stream] reads the program's standard output in one goroutine, stamps
//     each record when the read that completed it returned, and keeps the
//     samples until they are taken (stream.go).
//   - The program leads a process group of its own, which is signalled as one,
//     so a shell's children end with it (child.go). Its standard output is a
//     pipe whose only reader is this process: when this process dies, however
//     it dies, the program's next write fails with SIGPIPE or EPIPE.
//   - A [Program] is the life of a sensor over a stream: started by a probe,
//     read, ended (program.go).
//   - [Run] is for tools that answer once (run.go).
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// grace is how long a program may take to end after SIGTERM, and again after
// SIGKILL.
const grace = 2 * time.Second

// drain bounds the wait for a standard error that a grandchild keeps open.
const drain = time.Second

// start runs args in a process group of its own with standard output into a
// pipe, of which it returns the reading end.
func start(args []string) (*exec.Cmd, *os.File, *tail, error) {
	if len(args) == 0 {
		return nil, nil, nil, errors.New("no program is named")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	defer w.Close() // the program has its own: at its end the pipe must be at its end
	said := new(tail)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = w, said
	cmd.WaitDelay = drain
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		r.Close()
		return nil, nil, nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	return cmd, r, said, nil
}

// signal sends sig to the group that process pid leads. That the group is gone
// already is no failure.
func signal(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(-pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// within waits for done, but not longer than d.
func within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// waitFor waits for done or the end of ctx.
func waitFor(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// An EndError says that a program has ended and what it said.
type EndError struct {
	Program string
	Stderr  string // the end of what it wrote to standard error, trimmed
	Err     error  // how it ended; nil: with exit status 0
}

func (e *EndError) Error() string {
	how := "exit status 0"
	if e.Err != nil {
		how = e.Err.Error()
	}
	if e.Stderr == "" {
		return fmt.Sprintf("%s has ended (%s)", e.Program, how)
	}
	return fmt.Sprintf("%s has ended (%s): %s", e.Program, how, lastLine(e.Stderr))
}

func (e *EndError) Unwrap() error { return e.Err }

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// tailBytes is enough for a usage message.
const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.b) - tailBytes; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.b))
}
