package ollama

import (
	"fmt"

	"tokwatt/collect"
)

// Ollama cuts a prompt that is longer than its context silently, and so do
// those that stand in for it, at whatever length is theirs.

// cutMargin is how many bytes longer a prompt must be than one of the same count
// before the server is said to cut them. No token that we know of is longer.
const cutMargin = 256

// cuts notes the counts of prompts, to find out whether they grow.
type cuts struct {
	most     int64 // the highest count so far
	shortest int   // of the prompts that had it, in bytes
}

// note takes the count of a prompt, and reports whether it was cut: there has
// been a much shorter one of the same count, and none of a higher.
func (c *cuts) note(p collect.Prompt, tokens int64) bool {
	size := len(p.System) + len(p.User)
	switch {
	case tokens > c.most:
		c.most, c.shortest = tokens, size
	case tokens == c.most:
		c.shortest = min(c.shortest, size)
	}
	return tokens == c.most && size >= c.shortest+cutMargin
}

// cutError is a prompt that the server does not take whole.
type cutError struct{ tokens, window int64 }

func (e *cutError) Error() string {
	return fmt.Sprintf("the server cuts longer prompts to %d tokens, though a context of %d was asked for: take shorter ones with --pp, or have it give its models more", e.tokens, e.window)
}

// shortOf is the error of a context that the server has given the model, in
// tokens, and that a sized pair of the spec does not fit into; nil where all do.
func shortOf(spec collect.Spec, given, asked int64) error {
	for _, s := range spec.Shapes() {
		if s.PP > 0 && s.PP+s.TG > given {
			return fmt.Errorf("the server loads it with a context of %d tokens, though %d were asked for, and --pp %d with --tg %d needs %d: take fewer, or have it give its models more",
				given, asked, s.PP, s.TG, s.PP+s.TG)
		}
	}
	return nil
}
