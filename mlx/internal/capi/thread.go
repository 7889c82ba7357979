//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"errors"
	"runtime"
)

// thread is an operating system thread that runs what it is given and never
// ends: some versions of MLX crash when a thread that used it does.
type thread struct {
	work chan func()
	died chan struct{} // closed if the work ended the goroutine
}

func newThread() *thread {
	t := &thread{work: make(chan func()), died: make(chan struct{})}
	go func() {
		defer close(t.died)
		runtime.LockOSThread()
		for f := range t.work {
			f()
		}
	}()
	return t
}

// do runs f on the thread and waits for it.
func (t *thread) do(f func()) error {
	done := make(chan struct{})
	select {
	case t.work <- func() { f(); close(done) }:
	case <-t.died:
		return errDied
	}
	select {
	case <-done:
		return nil
	case <-t.died:
		return errDied
	}
}

// errDied is a test's doing: t.FailNow ends the goroutine that calls it.
var errDied = errors.New("MLX's thread has ended")
