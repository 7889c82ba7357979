package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"tokwatt/collect"
)

// progress tells people how a run stands: a bar on a terminal, plain lines
// elsewhere. It only draws when it is told something, and the runner tells it
// only while nothing is timed.
type progress struct {
	w       io.Writer
	bars    *mpb.Progress // nil where the output is no terminal
	refresh chan any
	bar     *mpb.Bar
	start   time.Time

	mu   sync.Mutex
	text string
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, start: time.Now()}
	if isTerminal(w) {
		p.refresh = make(chan any)
		p.bars = mpb.New(mpb.WithOutput(w), mpb.WithManualRefresh(p.refresh), mpb.WithWidth(20))
	}
	return p
}

// notify is the runner's Notify.
func (p *progress) notify(s collect.Progress) {
	switch s.Phase {
	case collect.PhaseWarning:
		p.say("warning: %s", s.Warning)
	case collect.PhaseOpen:
		if s.Target.ModelID == "" {
			p.step(s, "asking what is there")
			return
		}
		p.step(s, "opening "+targetName(&s.Target))
	case collect.PhaseSize:
		p.step(s, "making a prompt of "+plural(*s.Case.PP, "token"))
	case collect.PhaseIdle:
		p.step(s, "10 s quiet, for what is drawn at rest")
	case collect.PhaseWarmup:
		p.step(s, "warming up "+targetName(&s.Target))
	case collect.PhaseMeasure:
		p.at(s, placed(s))
	case collect.PhaseMeasured:
		p.step(s, placed(s)+outcome(s.Batch))
	}
}

// placed names a case, with where its model runs in a cluster.
func placed(s collect.Progress) string {
	where := placement(s.Target.Sharding, s.Target.InstanceMeta, s.Target.Nodes)
	return strings.TrimSpace(where + " " + label(s.Case))
}

// label names a case.
func label(c collect.Case) string {
	pp := "own prompt"
	switch {
	case c.PP != nil:
		pp = fmt.Sprintf("pp %d", *c.PP)
	case c.PromptKind != "own":
		pp = c.PromptKind
	}
	return fmt.Sprintf("%s tg %d ×%d", pp, c.TG, c.Concurrency)
}

// outcome says how a batch went, by our own clock.
func outcome(b *collect.Batch) string {
	failed := 0
	for _, r := range b.Requests {
		if r.Failure != nil && r.Failure.Kind != collect.ErrCancelled {
			failed++
		}
	}
	s := fmt.Sprintf("  %.2f s", float64(b.EndNS-b.StartNS)/1e9)
	if failed > 0 {
		s += fmt.Sprintf("  %d failed", failed)
	}
	return s
}

// step shows text as the newest news.
func (p *progress) step(s collect.Progress, text string) {
	if p.bars == nil {
		fmt.Fprintf(p.w, "[%d/%d] %s\n", s.Done, s.Planned, text)
		return
	}
	p.at(s, text)
}

// at moves the bar; without one it says nothing.
func (p *progress) at(s collect.Progress, text string) {
	if p.bars == nil {
		return
	}
	if p.bar == nil {
		p.bar = p.bars.AddBar(max(s.Planned, 1),
			mpb.PrependDecorators(decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.Any(p.caption)))
	}
	p.mu.Lock()
	p.text = text + left(s, time.Since(p.start))
	p.mu.Unlock()
	p.bar.SetCurrent(s.Done)
	p.draw()
}

func (p *progress) caption(decor.Statistics) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return " " + clip(p.text, 48)
}

// left estimates the time that the remaining batches take.
func left(s collect.Progress, spent time.Duration) string {
	if s.Done == 0 || s.Done >= s.Planned {
		return ""
	}
	rest := spent / time.Duration(s.Done) * time.Duration(s.Planned-s.Done)
	return "  " + rest.Round(time.Second).String() + " left"
}

func (p *progress) draw() { p.refresh <- time.Now() }

// say prints a line of its own.
func (p *progress) say(format string, args ...any) {
	line := harmless(fmt.Sprintf(format, args...))
	if p.bars == nil {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprintln(p.bars, line)
	p.draw()
}

// done ends the display.
func (p *progress) done() {
	if p.bars == nil {
		return
	}
	defer func() { p.bars = nil }()
	if p.bar != nil {
		p.bar.Abort(false)
		p.bar.Wait()
	}
	p.bars.Shutdown()
}
