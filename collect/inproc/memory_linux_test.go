package inproc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tokwatt/collect"
	"tokwatt/mlx/engine"
)

// TestOutOfMemory holds that a worker whose memory does not suffice fails the
// requests in flight, in one sentence, and that the next are answered, by a new
// worker if need be.
func TestOutOfMemory(t *testing.T) {
	for name, backend := range map[string]engine.Backend{"plain Go": engine.Reference, "MLX": engine.MLX} {
		t.Run(name, func(t *testing.T) {
			_, e := openWith(t, backend)
			confine(t, e.now.worker.PID())
			call := collect.Call{Prompt: collect.Prompt{User: strings.Repeat("x", 60_000)}, MaxTokens: 3, BanEOS: true}
			for _, a := range together(t, e, 2, call, nil) {
				var f *collect.Failure
				if !errors.As(a.err, &f) || strings.Contains(f.Message, "\n") {
					t.Errorf("without memory: %v", a.err)
				}
			}
			call.Prompt.User = "x"
			for _, a := range together(t, e, 2, call, nil) {
				if a.err != nil || len(a.chunks) != 3 {
					t.Errorf("the next: %+v", a)
				}
			}
		})
	}
}

// confine gives a process hardly more memory than it has.
func confine(t *testing.T, pid int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(status), &pages); err != nil {
		t.Fatal(err)
	}
	most := pages*uint64(os.Getpagesize()) + 4<<20
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
		t.Fatal(err)
	}
}
