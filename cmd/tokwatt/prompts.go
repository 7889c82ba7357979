package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/prompt"
)

// prompts makes prompters: by the model's own tokenizer where its files are at
// hand, else by the engine's counts.
type prompts struct {
	atom  string       // empty: the prompter's choice
	model string       // --tokenizer: a folder, a file, a model id or fromServer
	tell  func(string) // takes warnings
	named *prompt.Model
	why   string // why the model that was named can't be counted
}

// fromServer is the value of --tokenizer that asks the server for its counts,
// whatever model folders there are.
const fromServer = "server"

// open reads the model that the user named.
func (p *prompts) open(ctx context.Context) error {
	if p.model == "" || p.model == fromServer {
		return nil
	}
	m, err := prompt.Open(ctx, p.model, time.Now())
	var inexact *prompt.InexactError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &inexact):
		p.why = inexact.Error()
	case errors.Is(err, fs.ErrNotExist):
		return usagef("--tokenizer: %w: name the model's folder, its .gguf file, or its id in the hub's cache on this machine", err)
	case err != nil:
		return usagef("--tokenizer: %w", err)
	}
	p.named = m
	return nil
}

// of is the runner's Prompts.
func (p *prompts) of(ctx context.Context, t collect.TargetInfo, e collect.Engine, fresh bool) (collect.Prompter, string) {
	can := e.Abilities()
	counter, counts := e.(collect.Counter)
	atom := cmp.Or(p.atom, can.Atom)
	if can.InProcess {
		return p.sizer(counter.Count, prompt.Options{Atom: atom, Fresh: fresh, Source: collect.PromptTokenizer}), ""
	}
	model, warning := p.files(ctx, t)
	if model != nil {
		o := prompt.ExactOptions{Atom: atom, Fresh: fresh, Warn: p.tell}
		if counts {
			o.Server = counter.Count
		}
		exact, err := p.exact(model, o)
		if err == nil {
			return exact, ""
		}
		warning = fmt.Sprintf("%v; lengths are fitted to the server's counts", err)
	}
	count := func(context.Context, collect.Prompt) (collect.Counted, error) {
		return collect.Counted{}, collect.ErrNoCount
	}
	if counts {
		count = counter.Count
	}
	return p.sizer(count, prompt.Options{Atom: atom, Fresh: fresh}), warning
}

// sizer fits lengths to counts, with the atom that was named or, where none
// was, with the first that makes the length.
func (p *prompts) sizer(count prompt.CountFunc, o prompt.Options) collect.Prompter {
	tries, _ := prompt.NewTries(o.Atom, p.atom != "", func(atom string) (collect.Prompter, error) {
		o.Atom = atom
		return prompt.New(count, o), nil
	})
	return tries
}

// counted are prompts of exact lengths with the tokenizer that counts them.
type counted struct {
	collect.Prompter
	collect.TextCounter
}

// exact counts with a model's own files, and chooses atoms as sizer does.
func (p *prompts) exact(model *prompt.Model, o prompt.ExactOptions) (collect.Prompter, error) {
	var counter collect.TextCounter
	tries, err := prompt.NewTries(o.Atom, p.atom != "", func(atom string) (collect.Prompter, error) {
		o.Atom = atom
		exact, err := model.Exact(o)
		if counter == nil && err == nil {
			counter = exact
		}
		return exact, err
	})
	return counted{tries, counter}, err
}

// files are the files of a target's model: those that were named, else what
// the hub's cache has under the model's id. nil where there are none, or none
// that can be counted; then the warning says so.
func (p *prompts) files(ctx context.Context, t collect.TargetInfo) (m *prompt.Model, warning string) {
	switch {
	case p.model == fromServer:
		return nil, ""
	case p.model != "":
		if p.why != "" {
			warning = p.why + "; lengths are fitted to the server's counts"
		}
		return p.named, warning
	}
	for _, id := range []string{t.ServedModel, t.ModelID} {
		m, err := prompt.Open(ctx, id, time.Now())
		var inexact *prompt.InexactError
		switch {
		case err == nil:
			return m, ""
		case errors.As(err, &inexact):
			return nil, inexact.Error() + "; lengths are fitted to the server's counts"
		case warning == "" && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist):
			warning = fmt.Sprintf("%s's own files: %v; lengths are fitted to the server's counts", id, err)
		}
	}
	return nil, warning
}
