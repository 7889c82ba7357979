package host

import (
	"context"
	"os"
	"os/exec"
	"syscall"

	"tokwatt/collect"
)

func describe(context.Context) collect.Host { return linux{os.DirFS("/")}.describe() }

func bootID() string { return linux{os.DirFS("/")}.bootID() }

func heat(context.Context) func() collect.Heat {
	return (&throttling{linux: linux{os.DirFS("/")}}).heat
}

// keepAwake has systemd hold off sleep for as long as cat runs. A machine that
// systemd has not booted, as most containers, is not asked.
func keepAwake(ctx context.Context) (func(), error) {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return func() {}, nil
	}
	tool, err := exec.LookPath("systemd-inhibit")
	if err != nil {
		return func() {}, nil
	}
	cmd := exec.CommandContext(ctx, tool, "--what=idle:sleep", "--who=tokwatt", "--why=a benchmark is running", "--mode=block", "cat")
	// In a session of its own it has no terminal to ask for a password on,
	// and an interrupt from the keyboard does not reach it before us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return hold(cmd)
}
