package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the child of TestHoldDiesWithUs.
func TestMain(m *testing.M) {
	if os.Getenv("TOKWATT_TEST_HOLD") == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("cat")
	cmd.ExtraFiles = []*os.File{os.Stdout} // open until the last of us ends
	if _, err := hold(cmd); err != nil {
		panic(err)
	}
	fmt.Println("held")
	time.Sleep(time.Hour)
}

func TestHold(t *testing.T) {
	cmd := exec.Command("cat")
	release, err := hold(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("it ended before it was released")
	}
	release()
	if cmd.ProcessState == nil || !cmd.ProcessState.Success() {
		t.Errorf("it ended as %v", cmd.ProcessState)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cmd = exec.CommandContext(ctx, "cat")
	release, err = hold(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	release()
	if cmd.ProcessState == nil {
		t.Error("it runs on")
	}
}

func TestHoldRefused(t *testing.T) {
	for script, want := range map[string]string{
		"echo access denied >&2; exit 1": "access denied",
		"exit 0":                         "ended at once",
		"exec sleep 60":                  "does not answer",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			release, err := hold(exec.Command("sh", "-c", script))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", script, err)
			}
			release()
		})
	}
	if _, err := hold(exec.Command("/there/is/no/such/tool")); err == nil {
		t.Error("a tool that is missing")
	}
}

// TestHoldDiesWithUs: a process that is killed leaves nothing behind.
func TestHoldDiesWithUs(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), "TOKWATT_TEST_HOLD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "held\n" {
		t.Fatalf("the child says %q: %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// What the child holds has its output open, too: this ends when both did.
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // killed, of course
}

func TestKeepAwake(t *testing.T) {
	release, err := KeepAwake(t.Context())
	if err != nil {
		t.Log(err) // a machine may refuse
	}
	release()
}
