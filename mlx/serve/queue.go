package serve

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// How long a call waits for others alike after the last one that came. Clients
// that send several at once send them within milliseconds, and one that came
// too late would wait for the whole batch. A call that comes alone is not kept
// long; where a second one follows, more of them are likely. The wait is part of
// every time to first token, and of no figure of the engine's.
const (
	gatherAlone  = 5 * time.Millisecond
	gatherOthers = 20 * time.Millisecond
	gatherMost   = 100 * time.Millisecond // in all, however many come
)

// queue has the calls that wait, in the order of their arrival.
type queue struct {
	mu     sync.Mutex
	calls  []*call
	took   time.Duration // by the batch before
	closed bool
	more   chan struct{} // holds one element if something has changed
}

func newQueue() *queue { return &queue{more: make(chan struct{}, 1)} }

// add queues a call; a *fault where there is no room.
func (q *queue) add(c *call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return errClosing()
	case len(q.calls) >= MaxWaiting:
		f := faultf(http.StatusServiceUnavailable, "%d requests wait already, which is the most: send it again later", MaxWaiting)
		f.wait = max(q.took, time.Second)
		return f
	}
	c.queued = time.Now()
	q.calls = append(q.calls, c)
	q.wake()
	return nil
}

func errClosing() *fault {
	return faultf(http.StatusServiceUnavailable, "the server is shutting down")
}

func (q *queue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// drop takes a call out; it may be gone from the queue already.
func (q *queue) drop(c *call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = slices.DeleteFunc(q.calls, func(d *call) bool { return d == c })
}

// close lets in no more calls.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// next waits for the next batch: the call that waits longest, with those alike
// behind it, at most [MaxBatch]. None where ctx ends.
func (q *queue) next(ctx context.Context) []*call {
	for {
		batch, wait := q.batch(time.Now())
		if batch != nil {
			return batch
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-q.more:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// idle is how long an empty queue sleeps; a call wakes it.
const idle = time.Hour

// batch takes a batch that is complete, or says how long it may take until one
// is.
func (q *queue) batch(now time.Time) ([]*call, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		return nil, idle
	}
	var batch, rest []*call
	for _, c := range q.calls {
		if len(batch) < MaxBatch && c.alike(q.calls[0]) {
			batch = append(batch, c)
		} else {
			rest = append(rest, c)
		}
	}
	if wait := gathered(batch).Sub(now); wait > 0 && len(batch) < MaxBatch {
		return nil, wait
	}
	q.calls = rest
	return batch, 0
}

// gathered is when calls that are alike have waited long enough for more.
func gathered(batch []*call) time.Time {
	patience := gatherAlone
	if len(batch) > 1 {
		patience = gatherOthers
	}
	enough, most := batch[len(batch)-1].queued.Add(patience), batch[0].queued.Add(gatherMost)
	if most.Before(enough) {
		return most
	}
	return enough
}

// done says how long a batch took.
func (q *queue) done(took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.took = took
}
