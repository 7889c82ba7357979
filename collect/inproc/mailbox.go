package inproc

import (
	"bytes"
	"sync"

	"tokwatt/collect"
)

// line is a line of the worker with its stamp.
type line struct {
	text []byte
	at   int64
}

// mailbox holds the lines of a stream that it has not taken yet. However many
// they are, putting one in never waits.
type mailbox struct {
	mu    sync.Mutex
	lines []line
	end   *collect.Failure
	more  chan struct{} // holds one element if there is something to take
}

func newMailbox() *mailbox { return &mailbox{more: make(chan struct{}, 1)} }

// put adds a copy of text.
func (m *mailbox) put(text []byte, at int64) {
	m.mu.Lock()
	m.lines = append(m.lines, line{bytes.Clone(text), at})
	m.mu.Unlock()
	m.wake()
}

// close says that nothing will follow, for which the first reason given stands.
func (m *mailbox) close(why *collect.Failure) {
	m.mu.Lock()
	if m.end == nil {
		m.end = why
	}
	m.mu.Unlock()
	m.wake()
}

func (m *mailbox) wake() {
	select {
	case m.more <- struct{}{}:
	default:
	}
}

// take empties the box. end is set once nothing will follow.
func (m *mailbox) take() (lines []line, end *collect.Failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines, m.lines = m.lines, nil
	return lines, m.end
}
