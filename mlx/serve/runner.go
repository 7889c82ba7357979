package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tokwatt/mlx/engine"
)

// runner has the worker, which it starts when it is needed, and gives it one
// batch after the other.
type runner struct {
	load  engine.Load
	ctx   context.Context // of the server's life
	queue *queue

	starting sync.Mutex // held while a worker is started or ended

	mu      sync.Mutex // held while requests are written, so that no cancel comes before its request
	worker  *engine.Worker
	loading bool
	failure string          // why there is no worker, where that was not intended
	running map[int64]*call // by number
	last    int64           // the newest number, unique over all workers
}

func newRunner(ctx context.Context, l engine.Load) *runner {
	return &runner{load: l, ctx: ctx, queue: newQueue(), running: map[int64]*call{}}
}

// start makes sure that there is a worker with the model loaded.
func (r *runner) start() (*engine.Worker, error) {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.mu.Lock()
	w := r.worker
	r.loading = w == nil
	r.mu.Unlock()
	if w != nil {
		return w, nil
	}
	w, err := engine.Start(r.ctx, r.load)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loading = false
	if err != nil {
		r.failure = err.Error()
		return nil, err
	}
	r.worker, r.failure = w, ""
	go r.read(w)
	return w, nil
}

// stop ends the worker, unless it is needed again by then.
func (r *runner) stop(needed func() bool) {
	r.starting.Lock()
	defer r.starting.Unlock()
	if needed() {
		return
	}
	r.mu.Lock()
	w := r.worker
	r.worker = nil
	r.mu.Unlock()
	if w != nil {
		w.Close()
	}
}

// condition is what there is to say of the worker.
func (r *runner) condition() (loading, ready bool, failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loading, r.worker != nil, r.failure
}

// work runs batches until the server's life ends.
func (r *runner) work() {
	for {
		batch := r.queue.next(r.ctx)
		if batch == nil {
			return
		}
		w, err := r.start()
		if err != nil {
			for _, c := range batch {
				c.put(event{at: time.Now(), ending: failed, err: err})
			}
			continue
		}
		began := time.Now()
		r.run(w, batch)
		r.queue.done(time.Since(began))
	}
}

// run gives a batch to the worker and waits for its end.
func (r *runner) run(w *engine.Worker, batch []*call) {
	r.mu.Lock()
	var live []*call
	for _, c := range batch {
		if !c.isOver() {
			live = append(live, c)
		}
	}
	gone := r.worker != w // it has died since, and told so to those that it ran
	for _, c := range live {
		r.last++
		c.number = r.last
		if gone {
			c.put(event{at: time.Now(), ending: failed, err: errors.New("the engine's worker ended before the request began: send it again")})
			continue
		}
		r.running[c.number] = c
		c.put(event{at: time.Now(), begun: true})
		_ = w.Send(c.order(len(live))) // where it fails the worker has ended, which read tells
	}
	r.mu.Unlock()
	for _, c := range live {
		<-c.finished
	}
}

// end ends a call early; one that is over already stays as it is.
func (r *runner) end(c *call, why ending) {
	c.put(event{at: time.Now(), ending: why})
	r.queue.drop(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[c.number] == c {
		delete(r.running, c.number)
		if r.worker != nil {
			_ = r.worker.Cancel(c.number) // one that has ended runs nothing
		}
	}
}

// maxFrame bounds a line of the worker's, in bytes.
const maxFrame = 1 << 20

// read hands the worker's frames to their calls until the worker ends.
func (r *runner) read(w *engine.Worker) {
	lines := bufio.NewScanner(w.Stdout())
	lines.Buffer(make([]byte, 64<<10), maxFrame)
	var spoilt error
	for lines.Scan() && spoilt == nil {
		spoilt = r.frame(lines.Bytes(), time.Now())
	}
	if spoilt == nil {
		spoilt = lines.Err()
	}
	if spoilt != nil {
		w.Close()
	}
	r.ended(w, spoilt)
}

// frame takes a line. Its error is of a line that nobody can be told by.
func (r *runner) frame(line []byte, at time.Time) error {
	id, ok := engine.StreamOf(line)
	if !ok {
		return fmt.Errorf("the engine's worker wrote %q among its frames", line[:min(len(line), 60)])
	}
	r.mu.Lock()
	c := r.running[id]
	r.mu.Unlock()
	if c == nil {
		return nil // cancelled
	}
	f, err := engine.Decode(line)
	if err != nil {
		return err
	}
	e := event{at: at, token: f.Token != nil, text: f.Text, done: f.Prefilled}
	if c.decoder != nil && f.Token != nil {
		e.text = c.decoder.Next(*f.Token)
	}
	switch {
	case f.Error != "":
		e.ending, e.err = failed, errors.New(f.Error)
	case f.Done != nil:
		e.ending, e.stats = complete, f.Done
		if c.decoder != nil {
			e.text = c.decoder.End()
		}
	}
	if e.ending != "" {
		r.mu.Lock()
		delete(r.running, id)
		r.mu.Unlock()
	}
	c.put(e)
	return nil
}

// ended is the end of a worker: what it ran has failed. The next request
// starts another.
func (r *runner) ended(w *engine.Worker, why error) {
	if died := w.Wait(); why == nil {
		why = died
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.worker == w { // else it was stopped
		r.worker = nil
		if why != nil {
			r.failure = why.Error()
		}
	}
	if why == nil {
		why = errors.New("the engine was stopped")
	}
	for id, c := range r.running {
		delete(r.running, id)
		c.put(event{at: time.Now(), ending: failed, err: why})
	}
}
