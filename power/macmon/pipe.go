package macmon

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"tokwatt/power"
	"tokwatt/power/child"
)

const (
	// interval is what macmon is asked for: one reading costs it 3 to 7 ms.
	interval = 500 * time.Millisecond
	// patience bounds the wait for the first object, which comes after one
	// interval and what macmon needs to start.
	patience = 5 * time.Second
)

// PipeSource runs "macmon pipe".
type PipeSource struct {
	mu       sync.Mutex // a probe may still run when it is closed
	program  []string
	stream   *child.Stream
	channels []power.Channel // while it runs
}

var _ power.Source = (*PipeSource)(nil)

// Pipe returns a source that runs program, which is "macmon" but for tests;
// arguments are added to it.
func Pipe(program ...string) *PipeSource { return &PipeSource{program: program} }

// Name is "macmon".
func (s *PipeSource) Name() string { return name }

// OnDemand is false: readings come when macmon prints them.
func (s *PipeSource) OnDemand() bool { return false }

// Probe starts macmon unless it runs, and tells from its first object what the
// machine says.
func (s *PipeSource) Probe(ctx context.Context) []power.Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil && !s.stream.Ended() {
		return s.channels
	}
	s.stream = nil
	if len(s.program) == 0 {
		return none("", power.ReasonNoChannel, "no program is named")
	}
	if _, err := exec.LookPath(s.program[0]); err != nil {
		return none("", power.ReasonNoChannel, "macmon is not installed: brew install macmon")
	}
	args := append(slices.Clone(s.program), "pipe", "--interval", strconv.FormatInt(interval.Milliseconds(), 10))
	stream, err := child.Start(args, bufio.ScanLines, new(clock).parse)
	if err != nil {
		return none("", power.ReasonNoChannel, err.Error())
	}
	s.stream = stream
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	samples, err := first(ctx, stream)
	if err != nil {
		_ = s.end()
		return none("", power.ReasonNoReading, err.Error()+": macmon before 0.8 fails on macOS 27 and on M5; brew upgrade macmon")
	}
	s.channels = channelsOf("", samples)
	for i := range s.channels {
		s.channels[i].Refresh = interval
	}
	return s.channels
}

// first waits for the first object, and where the counter of the CPU stands
// still, for the next time that it moves.
func first(ctx context.Context, stream *child.Stream) ([]power.Sample, error) {
	samples, err := stream.Peek(ctx)
	for err == nil && !slices.ContainsFunc(samples, ofCPU) && ctx.Err() == nil && !stream.Ended() {
		select {
		case <-time.After(interval / 4):
		case <-ctx.Done():
		}
		samples, err = stream.Peek(ctx)
	}
	return samples, err
}

func ofCPU(x power.Sample) bool { return x.Scope == power.ScopeCPU && x.Metric == power.MetricPower }

// Read returns what macmon has printed since it was last called.
func (s *PipeSource) Read(context.Context) ([]power.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == nil {
		return nil, errors.New("macmon does not run: the probe says why")
	}
	return s.stream.Take()
}

// Close ends macmon.
func (s *PipeSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end()
}

func (s *PipeSource) end() error {
	if s.stream == nil {
		return nil
	}
	err := s.stream.Close()
	s.stream = nil
	return err
}
