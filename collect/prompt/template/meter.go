package template

import (
	"fmt"
	"time"

	"github.com/ardanlabs/jinja"
)

// The bounds of a program and of one rendering. Known templates have a tenth of
// the size and take a thousandth of the steps; what is beyond is damaged or
// hostile, and would take the machine's memory or never end.
const (
	maxSource  = 256 << 10 // bytes of a template
	maxTags    = 8192      // in a template
	maxTokens  = 2048      // in a tag
	maxNesting = 64        // of brackets, of blocks, and of macros that call macros

	maxText  = 64 << 20 // bytes of a value
	maxSteps = 1 << 20  // calls of ours, turns of loops, items of lists
	maxTime  = 2 * time.Second
)

// A meter bounds one rendering. The interpreter has no bounds of its own: it
// asks us wherever a value grows, a loop turns or a macro calls, since these
// are made calls of ours. A meter that ran out stays so, for the interpreter
// overlooks errors in the bounds of slices.
type meter struct {
	steps int
	bytes int64 // that may yet be read or written
	depth int   // of macros
	end   time.Time
	err   error
}

func newMeter(input int) *meter {
	return &meter{
		steps: maxSteps,
		bytes: maxText + 64*int64(input),
		end:   time.Now().Add(maxTime + time.Duration(input)*time.Microsecond),
	}
}

// spend is asked before so much is done.
func (m *meter) spend(steps int, bytes int64) error {
	m.steps -= min(steps, maxSteps+1)
	m.bytes -= bytes
	switch {
	case m.err != nil:
	case m.steps < 0:
		m.err = fmt.Errorf("more than %d steps", maxSteps)
	case m.bytes < 0:
		m.err = fmt.Errorf("more than %d MiB of text", maxText>>20)
	case time.Now().After(m.end):
		m.err = fmt.Errorf("more than %v to render", maxTime)
	}
	return m.err
}

// read spends what it costs to look at values, but not into lists.
func (m *meter) read(values []jinja.Value) error {
	steps, bytes := 1, int64(0)
	for _, v := range values {
		switch {
		case v.IsString():
			bytes += int64(len(v.AsString()))
		case v.IsList():
			steps += v.AsList().Len()
		case v.IsDict():
			steps += v.AsDict().Len()
		}
	}
	return m.spend(steps, bytes)
}

// readAll spends what it costs to look at all that a value holds. Of one that
// holds itself that is too much.
func (m *meter) readAll(v jinja.Value, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("lists of more than %d levels", maxNesting)
	}
	if err := m.read([]jinja.Value{v}); err != nil {
		return err
	}
	var items []jinja.Value
	switch {
	case v.IsList():
		items = v.AsList().Items
	case v.IsDict():
		for _, item := range v.AsDict().Data {
			items = append(items, item)
		}
	}
	for _, item := range items {
		if err := m.readAll(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// enter is the beginning of a macro.
func (m *meter) enter() error {
	if m.depth++; m.depth > maxNesting && m.err == nil {
		m.err = fmt.Errorf("macros that call macros %d deep", maxNesting)
	}
	return m.spend(1, 0)
}

// fits bounds a text before it is made.
func fits(bytes int) error {
	if bytes > maxText || bytes < 0 {
		return fmt.Errorf("a text of more than %d MiB", maxText>>20)
	}
	return nil
}
