package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// checkedWriter is stdout. It remembers that writing failed, since tables don't
// tell; and what a server sent can't steer the terminal.
type checkedWriter struct {
	w     io.Writer
	plain bool
	err   error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	out := p
	if c.plain {
		out = []byte(harmless(string(p)))
	}
	if _, err := c.w.Write(out); err != nil {
		c.err = fmt.Errorf("output lost: %w", err)
		return 0, c.err
	}
	return len(p), nil
}

// harmless is text without control characters but line ends and tabs.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
