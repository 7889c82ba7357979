package serve

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"tokwatt/mlx/engine"
)

// call is a request on its way through the engine.
type call struct {
	request
	id       string // what /v1/cancel takes
	instance string
	arrived  time.Time
	task     string // its id in the state
	number   int64  // its id at the worker, from the moment it begins
	queued   time.Time
	decoder  Decoder // of its answer; nil: the engine's text is taken

	mu       sync.Mutex
	begun    time.Time // zero: it waits
	first    time.Time // when its first token was read; zero: there is none yet
	events   []event
	more     chan struct{} // holds one element if there are events
	finished chan struct{} // closed with the last event
	over     bool
}

// event is what happens to a call. The last has an ending.
type event struct {
	at     time.Time
	token  bool   // a token was generated
	text   string // that it completes; with the ending: what was held back
	done   int64  // prompt tokens that are prefilled
	begun  bool   // its batch has begun
	ending ending
	stats  *engine.Stats // of a complete answer
	err    error         // of a failed one
}

// ending says how a call ended.
type ending string

const (
	complete  ending = "complete"
	failed    ending = "failed"    // the engine could not
	cancelled ending = "cancelled" // by a command, or with its instance
	left      ending = "left"      // its client went away
	closing   ending = "closing"   // the server ends
)

func newCall(r request, arrived time.Time) *call {
	return &call{
		request: r, id: newID(), task: newID(), arrived: arrived,
		more: make(chan struct{}, 1), finished: make(chan struct{}),
	}
}

// put adds an event; after the last one none is taken.
func (c *call) put(e event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	if e.token && c.first.IsZero() {
		c.first = e.at
	}
	if e.begun {
		c.begun = e.at
	}
	c.events = append(c.events, e)
	if e.ending != "" {
		c.over = true
		close(c.finished)
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// take are the events since the last time.
func (c *call) take() []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.events
	c.events = nil
	return all
}

// isOver reports whether the call has ended.
func (c *call) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// times are when the call began and when its first token came; zero where that
// has not happened.
func (c *call) times() (begun, first time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun, c.first
}

// alike reports whether two calls can be one batch.
func (c *call) alike(d *call) bool {
	return c.prompt.tokens == d.prompt.tokens && c.maxTokens == d.maxTokens && c.banEOS == d.banEOS && c.warm == d.warm
}

// order is the call as the engine takes it, one of so many.
func (c *call) order(streams int) engine.Request {
	return engine.Request{
		ID: c.number, Streams: streams, System: c.prompt.system, User: c.prompt.user, IDs: c.prompt.ids,
		MaxTokens: c.maxTokens, BanEOS: c.banEOS, Prefix: c.warm,
	}
}

// newID is a random UUID of version 4.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
