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
	"sync"
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
	mu       sync.Mutex // a probe may still run when it is closed
	program  []string
	sudo     []string // before program; empty where this process is root's
	stream   *child.Stream
	channels []power.Channel // while it runs
}

var _ power.Source = (*Source)(nil)

// New returns the source of this machine.
func New() *Source {
	s := &Source{program: []string{"/usr/bin/powermetrics"}}
	if os.Geteuid() != 0 {
		s.sudo = []string{"sudo", "-n"}
	}
	return s
}

// Name is "powermetrics".
func (s *Source) Name() string { return name }

// OnDemand is false: readings come when powermetrics prints them.
func (s *Source) OnDemand() bool { return false }

// Probe starts powermetrics unless it runs, and tells from its first document
// what the machine says.
func (s *Source) Probe(ctx context.Context) []power.Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream != nil && !s.stream.Ended() {
		return s.channels
	}
	s.stream = nil
	if _, err := exec.LookPath(s.program[0]); err != nil {
		return none(power.ReasonNoChannel, "there is no powermetrics: it comes with macOS")
	}
	stream, err := child.Start(s.command(ctx), split, new(clock).parse)
	if err != nil {
		return none(power.ReasonSudoNeeded, fmt.Sprintf("%v: run as root", err)) // there is no sudo
	}
	s.stream = stream
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	samples, err := s.first(ctx)
	if err != nil {
		_ = s.end()
		why, note := whyNot(err)
		return none(why, note)
	}
	s.channels = channelsOf(samples)
	return s.channels
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

// first waits for the first document, and where the counter of the CPU stands
// still, for the next time that it moves.
func (s *Source) first(ctx context.Context) ([]power.Sample, error) {
	samples, err := s.stream.Peek(ctx)
	for err == nil && !slices.ContainsFunc(samples, ofCPU) && ctx.Err() == nil && !s.stream.Ended() {
		select {
		case <-time.After(interval / 4):
		case <-ctx.Done():
		}
		samples, err = s.stream.Peek(ctx)
	}
	return samples, err
}

func ofCPU(x power.Sample) bool { return x.Scope == power.ScopeCPU && x.Metric == power.MetricPower }

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
func (s *Source) Read(context.Context) ([]power.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == nil {
		return nil, errors.New("powermetrics does not run: the probe says why")
	}
	return s.stream.Take()
}

// Close ends powermetrics. Where it is root's and this process is not, signals
// are refused: then the broken pipe ends it at its next document, and where
// that does not, sudo is asked to.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end()
}

func (s *Source) end() error {
	if s.stream == nil {
		return nil
	}
	err := s.stream.Close()
	if err != nil && len(s.sudo) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), asking)
		defer cancel()
		pid := strconv.Itoa(s.stream.Pid())
		if _, kill := child.Run(ctx, append(slices.Clone(s.sudo), "pkill", "-KILL", "-P", pid, "-x", name)...); kill == nil {
			err = s.stream.Close()
		}
	}
	s.stream = nil
	return err
}
