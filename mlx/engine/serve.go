package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"tokwatt/mlx"
	"tokwatt/mlx/model"
)

// gatherFor is how long a request waits for those released together with it
// after the last one that came. They come within microseconds; it is for the
// one whose stream failed before.
const gatherFor = 500 * time.Millisecond

// keepAtMost is the freed memory that stays for the next batch, in bytes.
const keepAtMost = 256 << 20

// server is a worker at work: read takes requests in while run generates.
type server struct {
	mu     sync.Mutex
	jobs   map[int64]*job // those not over
	queue  []*job         // those not yet begun, in order of arrival
	more   chan struct{}  // holds one element if the queue has grown
	stream *mlx.Stream
	model  *model.Model // nil in a probe
	out    io.Writer
	gone   func(error) // is told that nobody can hear us
}

// serve loads what the first line of in says and then generates what is asked
// for. gone is called when in ends or out is closed, with nil for a clean end;
// serve returns only if the load fails.
func serve(in io.Reader, out io.Writer, gone func(error)) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	s := &server{jobs: map[int64]*job{}, more: make(chan struct{}, 1), out: out, gone: gone}
	began := time.Now()
	if err := s.load(lines); err != nil {
		s.write(appendFrame(nil, Frame{Error: err.Error()}))
		return err
	}
	loaded := s.loaded()
	loaded.LoadS = time.Since(began).Seconds()
	tune(loaded)
	s.write(appendFrame(nil, Frame{Loaded: loaded}))
	if s.model == nil { // it was a probe, and ends when our input does
		s.read(lines)
		return nil
	}
	go s.read(lines)
	stream := s.stream
	var g *generator
	stream.Do(func() { g = newGenerator(s.model, s.write, s.over) })
	for {
		for _, jobs := range alike(s.gather()) {
			stream.Do(func() { g.run(jobs) })
		}
		stream.Do(func() {
			if stream.Kept() > keepAtMost {
				stream.Clear()
			}
		})
		runtime.GC() // now, as nothing is timed; see tune
	}
}

// loaded says what was loaded.
func (s *server) loaded() *Loaded {
	info := s.stream.Info()
	l := &Loaded{Backend: info}
	if s.model != nil {
		l.WeightBytes = s.model.Config.HeldBy(info).WeightBytes()
	}
	if info.Name == "mlx" {
		l.Environment = environment(os.Environ())
	}
	return l
}

// environment is the variables of MLX that are set.
func environment(all []string) map[string]string {
	out := map[string]string{}
	for _, pair := range all {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, "MLX_") {
			out[name] = value
		}
	}
	return out
}

func (s *server) load(lines *bufio.Reader) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the worker was not told what to load: %w", err)
	}
	var in input
	if err := json.Unmarshal(line, &in); err != nil || in.Load == nil {
		return errors.New("the worker was not told what to load: its first line is none of tokwatt's")
	}
	if s.stream, err = newStream(*in.Load); err != nil || in.Load.Model == "" {
		return err
	}
	s.stream.Do(func() { s.model, err = load(s.stream, *in.Load) })
	return err
}

func (s *server) write(frames []byte) {
	if _, err := s.out.Write(frames); err != nil {
		s.gone(err)
	}
}

// read takes in lines until there are no more.
func (s *server) read(lines *bufio.Reader) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.gone(nil)
			return
		}
		var in input
		if err := json.Unmarshal(bytes.TrimSpace(line), &in); err != nil {
			s.gone(fmt.Errorf("a line of input is none of tokwatt's: %w", err))
			return
		}
		switch {
		case s.model == nil:
			s.gone(errors.New("a probe has no model to run"))
			return
		case in.Run != nil:
			s.take(&job{Request: *in.Run})
		case in.Cancel != 0:
			s.cancel(in.Cancel)
		}
	}
}

// take queues a request, or refuses it.
func (s *server) take(j *job) {
	if err := s.render(j); err != nil {
		s.write(appendFrame(nil, Frame{Stream: j.ID, Error: err.Error()}))
		return
	}
	s.mu.Lock()
	s.jobs[j.ID] = j
	s.queue = append(s.queue, j)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// render makes the tokens of a request.
func (s *server) render(j *job) error {
	c := &s.model.Config
	switch {
	case j.MaxTokens < 1:
		return fmt.Errorf("%d tokens can't be generated: ask for at least 1", j.MaxTokens)
	case j.IDs != nil:
		j.prompt = j.IDs
	case !c.ByteTokenizer:
		return errors.New("the reference engine has no tokenizer for this folder: it takes text only for synthetic models and folders that tokwatt wrote, and token ids for any")
	default:
		j.prompt = model.EncodeChat(j.System, j.User)
	}
	if len(j.prompt) == 0 {
		return errors.New("the prompt has no tokens")
	}
	for _, id := range j.prompt {
		if id < 0 || int(id) >= c.Vocab {
			return fmt.Errorf("token %d is outside the model's vocabulary of %d", id, c.Vocab)
		}
	}
	return nil
}

// cancel ends a request early; one that is over already is not known any more.
func (s *server) cancel(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[id]; j != nil {
		j.cancelled.Store(true)
	}
}

func (s *server) over(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, j.ID)
}

// gather waits for the next request and those released together with it.
func (s *server) gather() []*job {
	var group []*job
	for {
		s.mu.Lock()
		for len(s.queue) > 0 && (len(group) == 0 || s.queue[0].Streams == group[0].Streams && len(group) < group[0].Streams) {
			group = append(group, s.queue[0])
			s.queue = s.queue[1:]
		}
		others := len(s.queue) > 0
		s.mu.Unlock()
		switch {
		case len(group) == 0:
			<-s.more
			continue
		case others || len(group) >= group[0].Streams:
			return group
		}
		select {
		case <-s.more:
		case <-time.After(gatherFor):
			return group
		}
	}
}

// alike splits a group into batches: those of one length, limit, ban and cache, in
// order of arrival.
func alike(group []*job) [][]*job {
	var out [][]*job
next:
	for _, j := range group {
		for i, b := range out {
			if len(b[0].prompt) == len(j.prompt) && b[0].MaxTokens == j.MaxTokens && b[0].BanEOS == j.BanEOS && b[0].Prefix == j.Prefix {
				out[i] = append(b, j)
				continue next
			}
		}
		out = append(out, []*job{j})
	}
	return out
}
