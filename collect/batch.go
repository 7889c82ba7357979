package collect

import (
	"context"
	"sync"
)

// batch measures one batch: prompts are built and connections opened first,
// then all requests are released by one barrier. Between release and the last
// response nothing runs here but the streams and a probe of the client's own
// load.
func (t *targetRun) batch(ctx context.Context, p point, repeat int64, warmup bool) *Batch {
	t.ids.batch++
	b := &Batch{CaseID: p.CaseID, BatchID: t.ids.batch, Segment: t.segment, RepeatIndex: repeat, Warmup: warmup}
	b.Requests = make([]Request, p.Concurrency)
	streams := make([]*inFlight, p.Concurrency)
	calls := make([]Call, p.Concurrency)
	for i := range calls {
		t.ids.request++
		b.Requests[i] = Request{RequestID: t.ids.request, ConcurrentIndex: int64(i)}
		calls[i] = t.call(p, &b.Requests[i])
	}
	before := t.heat()
	limits := t.spec.Limits()
	counter, _ := t.prompter.(TextCounter)
	each(p.Concurrency, func(i int) {
		streams[i] = t.dial(newWatch(ctx, limits), calls[i], &b.Requests[i])
		if counter != nil && streams[i] != nil {
			streams[i].said = newSpoken(calls[i].MaxTokens)
		}
	})
	collectGarbage()
	mark := t.marker()
	if mark != nil && len(streams) == 1 && streams[0] != nil {
		streams[0].first = mark
	}
	release(t.clock, b, streams, mark)
	b.note(before, t.heat())
	for _, s := range streams {
		if s != nil {
			s.req.Recount = s.said.recount(counter)
		}
	}
	return b
}

// call is one request of point p; its prompt is built here, before the barrier.
func (t *targetRun) call(p point, req *Request) Call {
	prompt := Prompt{User: p.prompt}
	if p.PP != nil {
		prompt, req.PPTokens = t.prompter.Build(*p.PP)
	}
	req.Chunks = make([]Chunk, 0, expected(p.TG))
	return Call{
		Prompt: prompt, MaxTokens: p.TG,
		Temperature: t.spec.Temperature, Seed: t.spec.Seed,
		Stream:  p.Streaming,
		Cold:    p.CacheMode == CacheCold,
		BanEOS:  p.TGWanted && !t.spec.NoEOSBan,
		Streams: p.Concurrency,
	}
}

// expected is how many chunks an answer of n tokens is made room for.
func expected(n int64) int64 { return min(n, 1<<16) + 4 }

// inFlight is a stream that waits for the barrier.
type inFlight struct {
	stream Stream
	watch  *watch
	req    *Request
	said   *spoken // nil where nobody could count it
	first  func()  // called at the first output; may be nil
}

// dial opens the stream of one request; nil when it failed, which is then in
// the request.
func (t *targetRun) dial(w *watch, call Call, req *Request) *inFlight {
	stream, err := t.engine.Open(w.ctx, call)
	if err != nil {
		req.Failure = w.failure(err, ErrConnect)
		w.cancel(nil)
		return nil
	}
	return &inFlight{stream: stream, watch: w, req: req}
}

// marker has sensors read at once, where some can be; else it is nil. It
// returns at once and is cheap enough for the path of an arrival that has its
// stamp.
func (t *targetRun) marker() func() {
	if !t.sensors.marks() && !t.own.marks() {
		return nil
	}
	return func() {
		t.sensors.mark()
		t.own.mark()
	}
}

// release lets all streams go at once and waits for the last. Behind the
// release, and when the last has ended, it calls mark, unless that is nil.
func release(clock *Clock, b *Batch, streams []*inFlight, mark func()) {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for _, s := range streams {
		if s == nil {
			continue
		}
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			record(clock, s)
		})
	}
	ready.Wait()
	load := startLoad()
	b.StartNS = clock.Now()
	close(gate)
	if mark == nil {
		mark = func() {}
	}
	mark()
	done.Wait()
	mark()
	load.stop(b)
	b.EndNS = lastEnd(clock, streams)
	for i, s := range streams {
		if s == nil { // it failed before the batch began, and takes no part in its times
			b.Requests[i].StartNS, b.Requests[i].EndNS = b.StartNS, b.StartNS
		}
	}
}

// lastEnd is the end of the last response; now, where none of them was opened.
func lastEnd(clock *Clock, streams []*inFlight) int64 {
	var end int64
	for _, s := range streams {
		if s != nil {
			end = max(end, s.req.EndNS)
		}
	}
	if end == 0 {
		return clock.Now()
	}
	return end
}

// each runs f for 0 … n−1 at once.
func each(n int64, f func(i int)) {
	var wg sync.WaitGroup
	for i := range int(n) {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
