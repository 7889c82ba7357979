package powermetrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
	"tokwatt/power/child"
)

const (
	// interval is what powermetrics is asked for; it takes 4 to 9 ms longer.
	interval = 500 * time.Millisecond
	// patience bounds the wait for the first document.
	patience = 5 * time.Second
	// asking bounds the questions to powermetrics and sudo that are no stream.
	asking = 2 * time.Second
)

// wanted are the samplers; the ANE's energy comes with cpu_power.
var wanted = []string{"cpu_power", "gpu_power", "thermal"}

// Source runs powermetrics.
type Source struct {
	program []string
	sudo    []string // before program; empty where this process is root's
	run     child.Program
}

var _ power.Source = (*Source)(nil)

// New returns the source of this machine.
func New() *Source {
	var sudo []string
	if os.Geteuid() != 0 {
		sudo = []string{"sudo", "-n"}
	}
	return newSource([]string{"/usr/bin/powermetrics"}, sudo)
}

func newSource(program, sudo []string) *Source {
	s := &Source{program: program, sudo: sudo}
	s.run = child.Program{Name: name, Stop: s.stop}
	return s
}

// Name is "powermetrics".
func (s *Source) Name() string { return name }

// OnDemand is false: readings come when powermetrics prints them.
func (s *Source) OnDemand() bool { return false }

// Probe starts powermetrics unless it runs, and tells from its first document
// what the machine says.
func (s *Source) Probe(ctx context.Context) []power.Channel {
	return s.run.Probe(func() (*child.Stream, []power.Channel) { return s.begin(ctx) })
}

// begin starts powermetrics and waits for its first document, and where the
// counter of the CPU stands still, for the next time that it moves.
func (s *Source) begin(ctx context.Context) (*child.Stream, []power.Channel) {
	if _, err := exec.LookPath(s.program[0]); err != nil {
		return nil, none(power.ReasonNoChannel, "there is no powermetrics: it comes with macOS")
	}
	stream, err := child.Start(s.command(ctx), split, new(clock).parse)
	if err != nil {
		return nil, none(power.ReasonSudoNeeded, fmt.Sprintf("%v: run as root", err)) // there is no sudo
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	samples, err := stream.Await(ctx, interval/4, hasCPU)
	if err != nil {
		_ = s.run.End(stream)
		why, note := whyNot(err)
		return nil, none(why, note)
	}
	return stream, channelsOf(samples)
}

// command is what is run: documents for ever, each written when it is made.
func (s *Source) command(ctx context.Context) []string {
	return slices.Concat(s.sudo, s.program, []string{
		"--samplers", strings.Join(s.samplers(ctx), ","),
		"-i", strconv.FormatInt(interval.Milliseconds(), 10), "-f", "plist", "-b", "0",
	})
}

// samplers are those wanted that this release lists in its help: an unknown
// name ends powermetrics. Help that lists none of them has another form, and
// says nothing.
func (s *Source) samplers(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	help, err := child.Run(ctx, append(slices.Clone(s.program), "-h")...)
	text := string(help)
	var end *child.EndError
	if errors.As(err, &end) {
		text += end.Stderr
	}
	listed := slices.DeleteFunc(slices.Clone(wanted), func(sampler string) bool { return !strings.Contains(text, sampler) })
	if len(listed) == 0 {
		return wanted
	}
	return listed
}

// hasCPU reports whether samples tell the power of the CPU.
func hasCPU(samples []power.Sample) bool {
	return slices.ContainsFunc(samples, func(x power.Sample) bool {
		return x.Scope == power.ScopeCPU && x.Metric == power.MetricPower
	})
}

// whyNot reads from what sudo and powermetrics say why there is nothing.
func whyNot(err error) (power.Reason, string) {
	text := err.Error()
	var end *child.EndError
	if errors.As(err, &end) {
		text += end.Stderr
	}
	switch {
	case errors.Is(err, errVirtual):
		return power.ReasonVM, err.Error()
	case strings.Contains(text, "password is required"), strings.Contains(text, "terminal is required"),
		strings.Contains(text, "superuser"), strings.Contains(text, "must be run as root"):
		return power.ReasonSudoNeeded, "powermetrics needs root: run sudo -v first, or as root, or allow it in sudoers: NAME ALL=(root) NOPASSWD: /usr/bin/powermetrics"
	case strings.Contains(text, "not allowed"), strings.Contains(text, "not in the sudoers"), strings.Contains(text, "may not run"):
		return power.ReasonDenied, "sudo does not let this user run powermetrics: " + err.Error()
	}
	return power.ReasonNoReading, err.Error()
}

// Read returns what powermetrics has printed since it was last called.
func (s *Source) Read(context.Context) ([]power.Sample, error) { return s.run.Read() }

// Close ends powermetrics.
func (s *Source) Close() error { return s.run.Close() }

// stop ends a stream. Where powermetrics is root's and this process is not,
// signals are refused: then the broken pipe ends it at its next document, and
// where that does not, sudo is asked to.
func (s *Source) stop(stream *child.Stream) error {
	err := stream.Close()
	if err == nil || len(s.sudo) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	pid := strconv.Itoa(stream.Pid())
	if _, kill := child.Run(ctx, append(slices.Clone(s.sudo), "pkill", "-KILL", "-P", pid, "-x", name)...); kill == nil {
		err = stream.Close()
	}
	return err
}
