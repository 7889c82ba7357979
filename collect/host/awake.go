package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// KeepAwake keeps this machine from going to sleep until release is called, or
// ctx or this process ends, killed or not. Where a system has no way to do so
// that we know of, nothing is done and nothing said. Release is never nil.
func KeepAwake(ctx context.Context) (release func(), err error) {
	release, err = keepAwake(ctx)
	if err != nil {
		return release, fmt.Errorf("this machine can't be kept awake (%w): see to it that it does not sleep while it measures", err)
	}
	return release, nil
}

// holdTimeout is how long hold waits for a tool to take hold.
const holdTimeout = 2 * time.Second

// hold starts a command that runs cat while it holds what it is for, and
// returns when cat answers: then it is held. The command ends with its input,
// and so with this process even where that is killed.
func hold(cmd *exec.Cmd) (release func(), err error) {
	nothing := func() {}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nothing, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nothing, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nothing, err
	}
	late := time.AfterFunc(holdTimeout, func() { _ = cmd.Process.Kill() })
	_, asked := in.Write([]byte{'\n'})
	_, answered := io.ReadFull(out, make([]byte, 1))
	inTime := late.Stop()
	release = func() {
		_ = in.Close()
		_ = cmd.Wait() // however it ends, it holds nothing any more
	}
	if inTime && asked == nil && answered == nil {
		return release, nil
	}
	release()
	if !inTime {
		return nothing, fmt.Errorf("%s does not answer", cmd.Path)
	}
	return nothing, errors.New(cmp.Or(strings.TrimSpace(said.String()), cmd.Path+" ended at once"))
}
