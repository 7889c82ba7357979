package child

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tokwatt/power"
)

// Program is the life of a sensor that is a program which streams: a probe
// starts it, readings are what it has printed since the last, and it runs until
// Close. All three may be called at once: a probe may still run when the
// sensor is closed.
type Program struct {
	Name string              // for errors
	Stop func(*Stream) error // nil: (*Stream).Close

	mu       sync.Mutex
	stream   *Stream
	channels []power.Channel // while it runs
}

// Probe returns the channels of the program, which begin starts unless it runs.
// A nil stream is a program that could not be started, or said nothing that
// helps; its channels say why.
func (p *Program) Probe(begin func() (*Stream, []power.Channel)) []power.Channel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil || p.stream.Ended() {
		p.stream, p.channels = begin()
	}
	return slices.Clone(p.channels)
}

// Read returns what the program has printed since it was last called.
func (p *Program) Read() ([]power.Sample, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil {
		return nil, fmt.Errorf("%s does not run: the probe says why", p.Name)
	}
	return p.stream.Take()
}

// Close ends the program. It may be called again.
func (p *Program) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil {
		return nil
	}
	err := p.End(p.stream)
	p.stream = nil
	return err
}

// Pid is the process id of the program; 0 where none runs.
func (p *Program) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == nil {
		return 0
	}
	return p.stream.Pid()
}

// End stops a stream that begin has started and has no use for.
func (p *Program) End(s *Stream) error {
	if p.Stop == nil {
		return s.Close()
	}
	return p.Stop(s)
}

// Await peeks again and again until enough says that the samples are, or the
// program has ended, or ctx has, and returns those there are.
func (s *Stream) Await(ctx context.Context, every time.Duration, enough func([]power.Sample) bool) ([]power.Sample, error) {
	for {
		samples, err := s.Peek(ctx)
		if err != nil || enough(samples) || s.Ended() || ctx.Err() != nil {
			return samples, err
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
		}
	}
}
