package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tokwatt/mlx"
)

// Worker is a running worker process, seen from its parent.
type Worker struct {
	cmd    *exec.Cmd
	loaded Loaded
	stdout io.Reader
	last   *lastWords
	exited chan struct{} // closed when err is set
	err    error

	mu    sync.Mutex // keeps lines whole
	stdin io.WriteCloser
	shut  atomic.Bool // by Close
}

// Start makes a worker and waits until it has loaded. ctx ends the wait, not
// the worker; Close does. An error says why the model can't be had; if the
// worker ended meanwhile, it is an *ExitError.
func Start(ctx context.Context, l Load) (*Worker, error) {
	w, err := spawn()
	if err != nil {
		return nil, fmt.Errorf("the engine's worker can't be started: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { w.cmd.Process.Kill() })
	defer stop()
	err = w.load(l)
	if err == nil && stop() {
		return w, nil
	}
	w.cmd.Process.Kill()
	died := w.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, died
	}
	return nil, err
}

// Probe says what MLX's library is, if it can be used: it is loaded and checked
// in a worker that ends at once, so that a library that crashes ends nothing
// else. The error says what was tried, or what is wrong.
func Probe(ctx context.Context, library string) (mlx.Info, error) {
	w, err := Start(ctx, Load{Backend: MLX, Library: library})
	if err != nil {
		return mlx.Info{}, err
	}
	defer w.Close()
	return w.Loaded().Backend, nil
}

// spawn runs this program again, as a worker.
func spawn() (*Worker, error) {
	if os.Getenv(marker) != "" {
		return nil, errors.New("this is a worker itself: main and TestMain must call engine.RunIfWorker first")
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	cmd.Args = []string{"tokwatt-engine"} // as ps shows it
	cmd.Env = append(os.Environ(), marker+"=1")
	w := &Worker{cmd: cmd, last: &lastWords{}, exited: make(chan struct{})}
	cmd.Stderr = w.last
	// A descendant that kept stderr open would keep Wait waiting.
	cmd.WaitDelay = time.Second
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not cmd.StdoutPipe: Wait would close it under whoever still reads.
	r, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, w.stdout = stdout, r
	err = cmd.Start()
	stdout.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	go func() {
		w.err = exitError(cmd.Wait(), w.last)
		close(w.exited)
	}()
	return w, nil
}

// load tells the worker what to load and reads its answer, up to the end of the
// line and no further: the rest is for the reader of Stdout.
func (w *Worker) load(l Load) error {
	if err := w.send(input{Load: &l}); err != nil {
		return io.ErrUnexpectedEOF
	}
	var line []byte
	for b := make([]byte, 1); !bytes.HasSuffix(line, []byte("\n")); line = append(line, b[0]) {
		if _, err := w.stdout.Read(b); err != nil {
			return io.ErrUnexpectedEOF
		}
	}
	f, err := Decode(line)
	switch {
	case err != nil:
		return err
	case f.Error != "":
		return errors.New(f.Error)
	case f.Loaded == nil:
		return fmt.Errorf("the engine's worker said %q where it should have loaded", bytes.TrimSpace(line))
	}
	w.loaded = *f.Loaded
	return nil
}

// Loaded says what was loaded.
func (w *Worker) Loaded() Loaded { return w.loaded }

// PID is the worker's process id.
func (w *Worker) PID() int { return w.cmd.Process.Pid }

// Stdout is the stream of the worker's frames, a line each. It ends when the
// worker does. It is for one reader, who must go on reading.
func (w *Worker) Stdout() io.Reader { return w.stdout }

// Send hands a request to the worker. It fails if the worker has ended: then
// Stdout has, too, and Wait says why.
func (w *Worker) Send(r Request) error { return w.send(input{Run: &r}) }

// Cancel ends a request early. Nothing is said of it any more, but for what is
// on its way already.
func (w *Worker) Cancel(id int64) error { return w.send(input{Cancel: id}) }

// Encode makes the line of a request beforehand, for Write.
func Encode(r Request) ([]byte, error) {
	line, err := json.Marshal(input{Run: &r})
	return append(line, '\n'), err
}

// Write writes a line that Encode made.
func (w *Worker) Write(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.stdin.Write(line)
	return err
}

func (w *Worker) send(in input) error {
	line, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return w.Write(append(line, '\n'))
}

// Wait waits for the worker's end and says how it came: nil after Close, else an
// *ExitError.
func (w *Worker) Wait() error {
	<-w.exited
	if w.shut.Load() {
		return nil
	}
	return w.err
}

// Exited is closed when the worker has ended.
func (w *Worker) Exited() <-chan struct{} { return w.exited }

// Close ends the worker and waits for its end. What it was generating is lost.
func (w *Worker) Close() error {
	w.shut.Store(true)
	w.stdin.Close() // without the lock: it frees a write that hangs
	select {
	case <-w.exited:
	case <-time.After(2 * time.Second): // it ends at once, unless it hangs
		w.cmd.Process.Kill()
		<-w.exited
	}
	return nil
}

// ExitError is the end of a worker that nobody asked for.
type ExitError struct {
	Code   int    // exit code, -1 after a signal
	Signal string // as in "killed"; empty without one
	Words  string // the last that it wrote to stderr, one line
}

// Error is a sentence with the signal and the last words.
func (e *ExitError) Error() string {
	s := fmt.Sprintf("the engine's worker ended with exit code %d", e.Code)
	switch {
	case e.Signal == syscall.SIGKILL.String():
		s = "the engine's worker was ended by signal killed, by somebody or for want of memory"
	case e.Signal != "":
		s = "the engine's worker was ended by signal " + e.Signal
	}
	if e.Words != "" {
		s += "; its last words: " + e.Words
	}
	return s
}

// exitError is how a process ended, by what Wait said.
func exitError(err error, last *lastWords) *ExitError {
	e := &ExitError{Words: last.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		e.Code = exit.ExitCode()
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			e.Signal = s.Signal().String()
		}
	}
	return e
}
