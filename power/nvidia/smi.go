package nvidia

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
	"tokwatt/power/child"
)

const (
	// every is how long nvidia-smi is to wait between lines. With what a
	// query takes besides, averages of a second that follow one another miss
	// each other by no more than jitter.
	every = 80 * time.Millisecond
	// patience bounds the wait for the first line: loading the driver can
	// take seconds where no process holds it.
	patience = 10 * time.Second
)

// SMI reads through a running nvidia-smi.
type SMI struct {
	program []string
	run     child.Program
}

var _ power.Source = (*SMI)(nil)

// NewSMI returns a source that runs program, which is "nvidia-smi" but for
// tests; arguments are added to it.
func NewSMI(program ...string) *SMI {
	return &SMI{program: program, run: child.Program{Name: "nvidia-smi"}}
}

// Name is "nvidia"; samples and channels carry the GPU's index besides.
func (s *SMI) Name() string { return name }

// OnDemand is false: readings come when nvidia-smi prints them.
func (s *SMI) OnDemand() bool { return false }

// Probe starts nvidia-smi unless it runs, and tells from its first lines what
// each GPU says.
func (s *SMI) Probe(ctx context.Context) []power.Channel {
	return s.run.Probe(func() (*child.Stream, []power.Channel) { return s.begin(ctx) })
}

// begin starts nvidia-smi, with the older names of fields where it does not
// know the newer.
func (s *SMI) begin(ctx context.Context) (*child.Stream, []power.Channel) {
	if len(s.program) == 0 {
		return nil, none(power.ReasonNoChannel, "no program is named")
	}
	if _, err := exec.LookPath(s.program[0]); err != nil {
		return nil, none(power.ReasonNoChannel, "nvidia-smi is not on the path: it comes with NVIDIA's driver")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, samples, err := s.query(ctx, newPower)
	if refused(err) {
		stream, samples, err = s.query(ctx, oldPower)
	}
	if err != nil {
		return nil, none(whyNot(err), err.Error())
	}
	return stream, channelsOf(samples)
}

// query starts nvidia-smi and waits until every GPU has printed a line: they
// print one after the other, so all have when one prints again.
func (s *SMI) query(ctx context.Context, kinds string) (*child.Stream, []power.Sample, error) {
	ms := strconv.FormatInt(every.Milliseconds(), 10)
	args := append(slices.Clone(s.program), "--query-gpu="+queryOf(kinds), "--format=csv,noheader,nounits", "-lms", ms)
	stream, err := child.Start(args, bufio.ScanLines, newParser(kinds).line)
	if err != nil {
		return nil, nil, err
	}
	samples, err := stream.Await(ctx, every/4, again)
	if err != nil {
		_ = s.run.End(stream)
	}
	return stream, samples, err
}

// again reports whether any GPU has said anything twice.
func again(samples []power.Sample) bool {
	type key struct {
		source string
		metric power.Metric
	}
	seen := map[key]bool{}
	for _, x := range samples {
		k := key{x.Source, x.Metric}
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return false
}

// refused reports whether nvidia-smi does not know a field. It says so on
// either of its outputs.
func refused(err error) bool {
	return err != nil && strings.Contains(err.Error()+stderrOf(err), "not a valid field")
}

func whyNot(err error) power.Reason {
	if text := err.Error() + stderrOf(err); strings.Contains(text, "ermission") {
		return power.ReasonDenied
	}
	return power.ReasonNoChannel
}

func stderrOf(err error) string {
	var end *child.EndError
	if errors.As(err, &end) {
		return end.Stderr
	}
	return ""
}

// channelsOf tells what each GPU can say from what it has said.
func channelsOf(samples []power.Sample) []power.Channel {
	type key struct {
		source string
		metric power.Metric
	}
	var sources []string
	seen := map[key]power.Sample{}
	for _, x := range samples {
		if _, ok := seen[key{x.Source, ""}]; !ok {
			sources = append(sources, x.Source)
			seen[key{x.Source, ""}] = x
		}
		seen[key{x.Source, x.Metric}] = x
	}
	var channels []power.Channel
	for _, source := range sources {
		x, ok := seen[key{source, power.MetricPower}]
		channels = append(channels, powerChannel(source, ok, !x.Start.IsZero()))
		for _, m := range beside {
			c := power.Channel{Source: source, Scope: power.ScopeGPU, Metric: m.metric, Unit: m.unit}
			if _, ok := seen[key{source, m.metric}]; !ok {
				c.Missing, c.Note = power.ReasonNoReading, "the GPU gives no "+m.field
			}
			channels = append(channels, c)
		}
	}
	return channels
}

func powerChannel(source string, there, average bool) power.Channel {
	c := power.Channel{Source: source, Scope: power.ScopeGPU, Metric: power.MetricPower, Unit: "W"}
	switch {
	case !there:
		c.Missing, c.Note = power.ReasonNoReading, "the GPU gives no power"
	case average:
		c.Refresh, c.Note = trailing, "the board; averages of a second"
	default:
		c.Note = "the board; readings of an instant"
	}
	return c
}

// Read returns what nvidia-smi has printed since it was last called.
func (s *SMI) Read(context.Context) ([]power.Sample, error) { return s.run.Read() }

// Close ends nvidia-smi.
func (s *SMI) Close() error { return s.run.Close() }
