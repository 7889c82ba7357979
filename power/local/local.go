// Package local chooses the sources of power readings that this machine has.
//
// Under macOS they are alternatives, most of them views of the same counters:
// the first that can read power is taken, in the order ioreport, macmon,
// powermetrics. Under Linux they are of different parts, and all are taken:
// nvidia, rapl, amdgpu. The battery is the last resort of both.
package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tokwatt/power"
	"tokwatt/power/amdgpu"
	"tokwatt/power/battery"
	"tokwatt/power/ioreport"
	"tokwatt/power/macmon"
	"tokwatt/power/nvidia"
	"tokwatt/power/powermetrics"
	"tokwatt/power/rapl"
)

// The names that stand for a choice.
const (
	Auto = "auto" // what this machine has
	Off  = "off"  // nothing
)

// Bounds of what a source may take to say what it can read, and to end.
const (
	probeTimeout = 12 * time.Second
	closeTimeout = 5 * time.Second
)

// maker makes a source.
type maker struct {
	name string
	make func() power.Source
}

// system is what a machine may have.
type system struct {
	sources      []maker
	alternatives bool // the first that can read power will do
	last         maker
}

// thisSystem is the one that this program runs on.
func thisSystem() system {
	last := maker{"battery", battery.New}
	if runtime.GOOS == "darwin" {
		return system{alternatives: true, last: last, sources: []maker{
			{"ioreport", func() power.Source { return ioreport.New() }},
			{"macmon", func() power.Source { return macmon.Pipe("macmon") }},
			{"powermetrics", func() power.Source { return powermetrics.New() }},
		}}
	}
	return system{last: last, sources: []maker{
		{"nvidia", nvidia.New},
		{"rapl", func() power.Source { return rapl.New("/") }},
		{"amdgpu", func() power.Source { return amdgpu.New("/") }},
	}}
}

// Names are the sources that Sources can be asked for here, in the order in
// which it looks for them.
func Names() []string { return thisSystem().names() }

func (s system) names() []string {
	var out []string
	for _, m := range append(slices.Clip(s.sources), s.last) {
		out = append(out, m.name)
	}
	return out
}

// Sources probes the named sources and returns them, those that can't read
// anything included: their channels say why. None, or [Auto] alone, is what
// this machine has; [Off] alone is none. What a source says it can read is
// found out here, once: its Probe repeats it. Whoever gets them closes them
// with [Close]. A URL among the names is that of a macmon serve, on this
// machine or another. The error is a name that this system does not know.
func Sources(ctx context.Context, names []string) ([]power.Source, error) {
	return thisSystem().choose(ctx, names)
}

// Check says what is wrong with names, as Sources would.
func Check(names []string) error { return thisSystem().check(names) }

func (s system) check(names []string) error {
	for _, name := range names {
		switch {
		case (name == Auto || name == Off) && len(names) > 1:
			return fmt.Errorf("%s stands alone: leave out the other names", name)
		case isAddress(name):
			if _, err := macmon.Serve(name); err != nil {
				return err
			}
		case name != Auto && name != Off && !slices.Contains(s.names(), name):
			return fmt.Errorf("there is no source %q on this system: take %s, %s, some of %s, or the URL of a macmon serve", name, Auto, Off, strings.Join(s.names(), ", "))
		}
	}
	return nil
}

func (s system) choose(ctx context.Context, names []string) ([]power.Source, error) {
	if err := s.check(names); err != nil {
		return nil, err
	}
	switch {
	case len(names) == 0 || names[0] == Auto:
		return s.auto(ctx), nil
	case names[0] == Off:
		return nil, nil
	}
	var wanted []maker
	for _, m := range append(slices.Clip(s.sources), s.last) {
		if slices.Contains(names, m.name) {
			wanted = append(wanted, m)
		}
	}
	for _, name := range names {
		if isAddress(name) {
			s, err := macmon.Serve(name)
			if err != nil {
				return nil, err
			}
			wanted = append(wanted, maker{name, func() power.Source { return s }})
		}
	}
	return probeAll(ctx, wanted), nil
}

// isAddress tells the URL of a macmon serve from the name of a source.
func isAddress(name string) bool { return strings.Contains(name, "://") }

// auto takes what this machine has.
func (s system) auto(ctx context.Context) []power.Source {
	var out []power.Source
	if s.alternatives {
		for _, m := range s.sources {
			out = append(out, probe(ctx, m.make()))
			if Readable(out[len(out)-1].Probe(ctx)) {
				return out
			}
		}
	} else {
		out = probeAll(ctx, s.sources)
	}
	for _, one := range out {
		if Readable(one.Probe(ctx)) {
			return out
		}
	}
	return append(out, probe(ctx, s.last.make()))
}

// Readable reports whether any of the channels can read power or energy.
func Readable(channels []power.Channel) bool {
	return slices.ContainsFunc(channels, func(c power.Channel) bool {
		return c.Missing == "" && (c.Metric == power.MetricEnergy || c.Metric == power.MetricPower)
	})
}

// probed is a source that was probed.
type probed struct {
	power.Source
	channels []power.Channel
}

func (p *probed) Probe(context.Context) []power.Channel { return p.channels }

// Revive starts the source again where it has ended: that is what its own Probe
// does.
func (p *probed) Revive(ctx context.Context) { p.Source.Probe(ctx) }

// mute is a source that did not answer. It is left alone.
type mute struct{ power.Source }

func (m *mute) Probe(context.Context) []power.Channel {
	return []power.Channel{{Source: m.Name(), Metric: power.MetricPower, Unit: "W", Missing: power.ReasonNoChannel, Note: errMute.Error()}}
}
func (*mute) Read(context.Context) ([]power.Sample, error) { return nil, errMute }

var errMute = errors.New("it did not say in " + probeTimeout.String() + " what it can read")

func probe(ctx context.Context, s power.Source) power.Source {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	said := make(chan []power.Channel, 1)
	go func() { said <- s.Probe(ctx) }()
	late := time.NewTimer(probeTimeout + time.Second) // one that heeds ctx may say what it found until then
	defer late.Stop()
	select {
	case channels := <-said:
		return &probed{s, channels}
	case <-late.C:
		return &mute{s}
	}
}

func probeAll(ctx context.Context, makers []maker) []power.Source {
	out := make([]power.Source, len(makers))
	var all sync.WaitGroup
	for i, m := range makers {
		source := m.make()
		all.Go(func() { out[i] = probe(ctx, source) })
	}
	all.Wait()
	return out
}

// Close closes sources at once. One that does not end in five seconds is left
// to itself, and the error says so.
func Close(sources []power.Source) error {
	ended := make(chan error, len(sources))
	for _, s := range sources {
		go func() { ended <- s.Close() }()
	}
	late := time.NewTimer(closeTimeout)
	defer late.Stop()
	var errs []error
	for range sources {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-late.C:
			return errors.Join(append(errs, fmt.Errorf("sensors can't be closed in %v", closeTimeout))...)
		}
	}
	return errors.Join(errs...)
}
