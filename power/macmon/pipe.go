package macmon

import (
	"bufio"
	"context"
	"os/exec"
	"slices"
	"strconv"
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
	program []string
	run     child.Program
}

var _ power.Source = (*PipeSource)(nil)

// Pipe returns a source that runs program, which is "macmon" but for tests;
// arguments are added to it.
func Pipe(program ...string) *PipeSource {
	return &PipeSource{program: program, run: child.Program{Name: name}}
}

// Name is "macmon".
func (s *PipeSource) Name() string { return name }

// OnDemand is false: readings come when macmon prints them.
func (s *PipeSource) OnDemand() bool { return false }

// Probe starts macmon unless it runs, and tells from its first object what the
// machine says.
func (s *PipeSource) Probe(ctx context.Context) []power.Channel {
	return s.run.Probe(func() (*child.Stream, []power.Channel) { return s.begin(ctx) })
}

// begin starts macmon and waits for its first object, and where the counter of
// the CPU stands still, for the next time that it moves.
func (s *PipeSource) begin(ctx context.Context) (*child.Stream, []power.Channel) {
	if len(s.program) == 0 {
		return nil, none("", power.ReasonNoChannel, "no program is named")
	}
	if _, err := exec.LookPath(s.program[0]); err != nil {
		return nil, none("", power.ReasonNoChannel, "macmon is not installed: brew install macmon")
	}
	args := append(slices.Clone(s.program), "pipe", "--interval", strconv.FormatInt(interval.Milliseconds(), 10))
	stream, err := child.Start(args, bufio.ScanLines, new(clock).parse)
	if err != nil {
		return nil, none("", power.ReasonNoChannel, err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	samples, err := stream.Await(ctx, interval/4, hasCPU)
	if err != nil {
		_ = s.run.End(stream)
		return nil, none("", power.ReasonNoReading, err.Error()+": macmon before 0.8 fails on macOS 27 and on M5; brew upgrade macmon")
	}
	channels := channelsOf("", samples)
	for i := range channels {
		channels[i].Refresh = interval
	}
	return stream, channels
}

// hasCPU reports whether samples tell the power of the CPU.
func hasCPU(samples []power.Sample) bool {
	return slices.ContainsFunc(samples, func(x power.Sample) bool {
		return x.Scope == power.ScopeCPU && x.Metric == power.MetricPower
	})
}

// Read returns what macmon has printed since it was last called.
func (s *PipeSource) Read(context.Context) ([]power.Sample, error) { return s.run.Read() }

// Close ends macmon.
func (s *PipeSource) Close() error { return s.run.Close() }
