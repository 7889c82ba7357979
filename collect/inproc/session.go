package inproc

import (
	"context"
	"errors"
	"sync"

	"tokwatt/collect"
	"tokwatt/mlx/engine"
)

// reference is the engine with a model loaded.
type reference struct {
	load   engine.Load
	model  string // as it is called
	text   Text   // empty: the engine makes tokens itself
	prefix bool   // requests that are not cold use what is in the cache
	clock  *collect.Clock

	mu     sync.Mutex
	now    *session // the newest
	closed bool
}

var (
	_ collect.Engine  = (*reference)(nil)
	_ collect.Counter = (*reference)(nil)
)

// Abilities: every request starts cold, and the ban is exact.
func (e *reference) Abilities() collect.Abilities {
	a := collect.Abilities{ColdMethod: "engine", EOSBan: "engine", InProcess: true}
	if e.text.Encode == nil {
		a.Atom = "a" // a byte is a token
	}
	return a
}

// Count is exact and asks nobody.
func (e *reference) Count(_ context.Context, p collect.Prompt) (collect.Counted, error) {
	if e.text.Encode != nil {
		ids, err := e.text.Encode(p)
		return collect.Counted{PromptTokens: int64(len(ids))}, err
	}
	return collect.Counted{PromptTokens: int64(engine.CountPrompt(p.System, p.User))}, nil
}

// session is the worker to use: a new one where there is none or it has died.
func (e *reference) session(ctx context.Context) (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("the engine is closed")
	}
	if e.now != nil && e.now.alive() {
		return e.now, nil
	}
	w, err := engine.Start(ctx, e.load)
	if err != nil {
		return nil, err
	}
	e.now = &session{worker: w, streams: map[int64]*stream{}}
	go e.now.demux(collect.NewLineReader(e.clock, w.Stdout()))
	return e.now, nil
}

func (e *reference) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.now == nil {
		return nil
	}
	return e.now.worker.Close()
}

// session is the life of one worker.
type session struct {
	worker *engine.Worker

	mu      sync.Mutex
	streams map[int64]*stream // those that wait for lines
	last    int64             // the newest request's id
	end     *collect.Failure  // why there will be no more lines
}

// demux hands each line to its stream. It runs until the worker ends, and does
// nothing that could keep the next line waiting for its stamp.
func (s *session) demux(lines *collect.LineReader) {
	for {
		line, at, err := lines.Next()
		if err != nil {
			s.over(err)
			return
		}
		id, ok := engine.StreamOf(line)
		if !ok {
			s.spoil(line)
			continue
		}
		s.mu.Lock()
		st := s.streams[id]
		s.mu.Unlock()
		if st != nil { // else it was cancelled
			st.box.put(line, at)
		}
	}
}

// spoil fails all streams for a line that is none of ours: nobody can say whose
// it was.
func (s *session) spoil(line []byte) {
	f := collect.Failf(collect.ErrProtocol, "the engine's worker wrote %q among its frames", line[:min(len(line), 60)])
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		st.box.close(f)
	}
}

// over is the end of the worker's output.
func (s *session) over(err error) {
	f := s.ending(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = f
	for _, st := range s.streams {
		st.box.close(f)
	}
}

// ending is why the worker's output ended, once the worker has.
func (s *session) ending(err error) *collect.Failure {
	var f *collect.Failure
	if errors.As(err, &f) { // a line that was too long
		s.worker.Close()
		return f
	}
	err = s.worker.Wait()
	var exit *engine.ExitError
	switch {
	case !errors.As(err, &exit):
		return collect.Failf(collect.ErrCancelled, "the engine was closed")
	case exit.Signal == "" && exit.Code == 0:
		return collect.Failf(collect.ErrTruncated, "%v", exit)
	}
	return collect.Failf(collect.ErrReset, "%v", exit)
}

func (s *session) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end == nil
}

// add gives a stream its id.
func (s *session) add(st *stream) (id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.streams[s.last] = st
	if s.end != nil {
		st.box.close(s.end)
	}
	return s.last
}

// remove forgets a stream.
func (s *session) remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, id)
}
