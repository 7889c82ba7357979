package child

import (
	"context"
	"fmt"
	"io"
	"syscall"
)

// answerBytes bounds what is kept of an answer.
const answerBytes = 4 << 20

// Run runs args to their end and returns what they print. At the end of ctx
// they are killed with all that they started. The error of a program that
// failed is an [*EndError].
func Run(ctx context.Context, args ...string) ([]byte, error) {
	cmd, pipe, said, err := start(args)
	if err != nil {
		return nil, err
	}
	var out []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, _ = io.ReadAll(io.LimitReader(pipe, answerBytes))
		pipe.Close()
		err = cmd.Wait()
	}()
	if !waitFor(ctx, done) {
		_ = signal(cmd.Process.Pid, syscall.SIGKILL)
		pipe.Close()
		if within(done, grace) {
			return nil, fmt.Errorf("%s does not answer: %w", args[0], context.Cause(ctx))
		}
		return nil, fmt.Errorf("%s (process %d) neither answers nor ends: kill it", args[0], cmd.Process.Pid)
	}
	if err != nil {
		return out, &EndError{Program: args[0], Stderr: said.String(), Err: err}
	}
	return out, nil
}
