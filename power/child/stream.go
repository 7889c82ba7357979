package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"tokwatt/power"
)

// Parse turns one record, read at the given instant, into samples. It is
// called for one record after another and must not keep the record.
type Parse func(at time.Time, record []byte) ([]power.Sample, error)

// Stream is a running program and the samples that it has sent.
type Stream struct {
	cmd   *exec.Cmd
	pipe  *os.File
	said  *tail
	ended chan struct{} // closed when the program has ended and is read to its end

	mu      sync.Mutex
	some    chan struct{} // closed while there are samples
	samples []power.Sample
	bad     error // of the last record, if it could not be read
	end     error // set before ended is closed
}

const (
	// recordBytes is the longest record; powermetrics' are 50 kB on the
	// largest chips.
	recordBytes = 4 << 20
	// keep is how many samples wait for Take: an hour of every stream we
	// know at its default rate, in 8 MB. When nobody takes them, the older
	// half goes.
	keep = 1 << 16
)

// Start runs args and parses what they print, split into records by split
// (bufio.ScanLines). The program runs until Close.
func Start(args []string, split bufio.SplitFunc, parse Parse) (*Stream, error) {
	cmd, pipe, said, err := start(args)
	if err != nil {
		return nil, err
	}
	s := &Stream{cmd: cmd, pipe: pipe, said: said, some: make(chan struct{}), ended: make(chan struct{})}
	go s.read(split, parse)
	return s, nil
}

// read is the stream's goroutine: it ends when the program has.
func (s *Stream) read(split bufio.SplitFunc, parse Parse) {
	from := &stamped{r: s.pipe}
	records := bufio.NewScanner(from)
	records.Buffer(make([]byte, 0, 64<<10), recordBytes)
	records.Split(split)
	for records.Scan() {
		samples, err := parse(from.at, records.Bytes())
		s.add(samples, err)
	}
	reading := records.Err()
	if errors.Is(reading, os.ErrClosed) { // by Close
		reading = nil
	}
	if reading != nil { // it is still running, and nobody will read what it writes
		_ = signal(s.cmd.Process.Pid, syscall.SIGKILL)
	}
	s.pipe.Close()
	end := &EndError{Program: s.cmd.Args[0], Err: s.cmd.Wait()}
	if reading != nil {
		end.Err = fmt.Errorf("its output can't be read: %w", reading)
	}
	end.Stderr = s.said.String()
	_ = signal(s.cmd.Process.Pid, syscall.SIGKILL) // what it has started and left behind
	s.mu.Lock()
	s.end = end
	s.mu.Unlock()
	close(s.ended)
}

func (s *Stream) add(samples []power.Sample, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad = err
	if len(s.samples)+len(samples) > keep {
		s.samples = append(s.samples[:0], s.samples[len(s.samples)/2:]...)
	}
	if len(s.samples) == 0 && len(samples) > 0 {
		close(s.some)
	}
	s.samples = append(s.samples, samples...)
}

// Peek waits until there are samples to take, and returns a copy of them. The
// error says why there are none: the program's end as an [*EndError], the last
// record that could not be read, or the end of ctx.
func (s *Stream) Peek(ctx context.Context) ([]power.Sample, error) {
	s.mu.Lock()
	some := s.some
	s.mu.Unlock()
	select {
	case <-some:
	case <-s.ended:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.samples) > 0:
		return append([]power.Sample(nil), s.samples...), nil
	case s.bad != nil:
		return nil, s.bad
	case s.end != nil:
		return nil, s.end
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s has sent nothing: %w", s.cmd.Args[0], context.Cause(ctx))
	}
	return nil, fmt.Errorf("what %s has sent was taken meanwhile", s.cmd.Args[0])
}

// Take returns the samples that have come since it was last called, oldest
// first; none and no error where there is nothing new. The error says why
// there will be none, or why the last record could not be read.
func (s *Stream) Take() ([]power.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) > 0 {
		taken := s.samples
		s.samples, s.some = nil, make(chan struct{})
		return taken, nil
	}
	if s.end != nil {
		return nil, s.end
	}
	return nil, s.bad
}

// Ended reports whether the program has ended.
func (s *Stream) Ended() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// Pid is the process id of the program, which is that of its group.
func (s *Stream) Pid() int { return s.cmd.Process.Pid }

// Close ends the program: SIGTERM and a broken pipe, SIGKILL after two
// seconds. It returns when the program has ended, at the latest after four
// seconds, then with an error that names the process. It may be called again.
func (s *Stream) Close() error {
	if s.Ended() {
		return nil
	}
	pid := s.cmd.Process.Pid
	// Refused where the program runs as another user: then the pipe must do.
	refused := signal(pid, syscall.SIGTERM)
	s.pipe.Close()
	if within(s.ended, grace) {
		return nil
	}
	if err := signal(pid, syscall.SIGKILL); err != nil {
		refused = err
	}
	if within(s.ended, grace) {
		return nil
	}
	if refused != nil {
		return fmt.Errorf("%s (process %d) does not end (%w): kill it", s.cmd.Args[0], pid, refused)
	}
	return fmt.Errorf("%s (process %d) does not end: kill it", s.cmd.Args[0], pid)
}

// stamped notes when the last read returned: a record is as old as the read
// that completed it, however many records that read brought.
type stamped struct {
	r  io.Reader
	at time.Time
}

func (s *stamped) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.at = time.Now()
	return n, err
}
