package engine

import (
	"bytes"
	"sync"
)

// lastWords keeps of what is written to it the line that says why a process
// died: where the Go runtime reports a crash that is the report's first line,
// which a thousand lines of stacks follow; else it is the last line.
type lastWords struct {
	mu    sync.Mutex
	crash string
	last  string
	part  []byte // a line that has not ended
}

// longest is how much of a line is kept, in bytes.
const longest = 300

// Write takes in a piece of output, cut anywhere.
func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for piece := range bytes.Lines(p) {
		l.part = append(l.part, piece[:min(len(piece), longest)]...)
		if piece[len(piece)-1] == '\n' {
			l.line(l.part)
			l.part = l.part[:0]
		} else if len(l.part) > longest {
			l.part = l.part[:longest]
		}
	}
	return len(p), nil
}

func (l *lastWords) line(b []byte) {
	text := string(bytes.ToValidUTF8(bytes.TrimSpace(b[:min(len(b), longest)]), nil))
	if text == "" {
		return
	}
	l.last = text
	for _, start := range []string{"panic: ", "fatal error: ", "runtime: out of memory", "unexpected fault address", "SIG"} {
		if l.crash == "" && bytes.HasPrefix([]byte(text), []byte(start)) {
			l.crash = text
		}
	}
}

// String is the line.
func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line(l.part)
	l.part = nil
	if l.crash != "" {
		return l.crash
	}
	return l.last
}
