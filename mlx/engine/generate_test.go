package engine

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"tokwatt/mlx"
	"tokwatt/mlx/mlxtest"
	"tokwatt/mlx/model"
)

// heard collects what a generator writes.
type heard struct {
	t      *testing.T
	tokens map[int64][]int32
	done   map[int64]*Stats
	errors map[int64]string
	writes int
	onLine func(f Frame)
}

func listen(t *testing.T) *heard {
	return &heard{t: t, tokens: map[int64][]int32{}, done: map[int64]*Stats{}, errors: map[int64]string{}}
}

func (h *heard) write(frames []byte) {
	h.writes++
	for line := range bytes.Lines(frames) {
		f, err := Decode(line)
		if s, ok := StreamOf(line); err != nil || !ok || s != f.Stream {
			h.t.Fatalf("%q: %v, stream %d %v", line, err, s, ok)
		}
		switch {
		case f.Token != nil:
			if f.Text != model.TokenText(*f.Token) {
				h.t.Fatalf("token %d came with text %q", *f.Token, f.Text)
			}
			h.tokens[f.Stream] = append(h.tokens[f.Stream], *f.Token)
		case f.Done != nil:
			h.done[f.Stream] = f.Done
		case f.Error != "":
			h.errors[f.Stream] = f.Error
		}
		if h.onLine != nil {
			h.onLine(f)
		}
	}
}

// opened is MLX, once for all tests.
var opened = sync.OnceValues(func() (*mlx.Stream, error) { return mlx.Open("") })

// withMLX is MLX for a test. It is skipped where there is none, but on CI it
// fails then.
func withMLX(t testing.TB) *mlx.Stream {
	t.Helper()
	mlxtest.NeedsLibrary(t)
	s, err := opened()
	if errors.Is(err, mlx.ErrBuild) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// backends runs f with each backend. If f ends its goroutine, so do all later
// tests of MLX: its thread is gone.
func backends(t *testing.T, f func(t *testing.T, s *mlx.Stream)) {
	t.Run("host", func(t *testing.T) { f(t, mlx.NewStream()) })
	t.Run("mlx", func(t *testing.T) {
		s := withMLX(t)
		s.Do(func() { f(t, s) })
	})
}

// tiny is a small model in which the given tokens end an answer.
func tiny(t testing.TB, s *mlx.Stream, eos ...int32) *model.Model {
	shape := model.Shapes()[0]
	shape.Config.Hidden, shape.Config.Layers, shape.Config.Intermediate, shape.Config.HeadDim = 64, 2, 96, 16
	shape.Config.EOS = eos
	m, err := model.Synthetic(s, shape, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func prompt(seed uint64, n int) []int32 {
	r := rand.New(rand.NewPCG(seed, 0))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = r.Int32N(256)
	}
	return ids
}

func newJob(id int64, ids []int32, n int, ban bool) *job {
	return &job{Request: Request{ID: id, MaxTokens: n, BanEOS: ban}, prompt: ids}
}

// greedy is what a model generates, by whole passes without a cache.
func greedy(m *model.Model, ids []int32, n int) []int32 {
	s := m.Stream
	ids = slices.Clone(ids)
	for range n {
		s.Scope(func() mlx.Array {
			tokens, cache := s.Tokens(ids), m.NewCache(1, len(ids))
			defer cache.Free()
			next := s.Argmax(m.Logits(m.Forward(tokens, cache)))
			best, _, err := s.ReadTokens(next)
			if err != nil {
				panic(err)
			}
			ids = append(ids, best[len(best)-1])
			s.FreeTokens(tokens)
			s.FreeTokens(next)
			return nil
		})
	}
	return ids[len(ids)-n:]
}

func TestTokensAreThoseOfTheModel(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		m := tiny(t, s)
		h := listen(t)
		over := 0
		g := newGenerator(m, h.write, func(*job) { over++ })
		g.chunk = 75 // the long prompt takes two, and in the batch of three six
		for i, n := range []int{1, 40, 150} {
			g.run([]*job{newJob(int64(i), prompt(uint64(n), n), 5, false)})
			if want := greedy(m, prompt(uint64(n), n), 5); !slices.Equal(h.tokens[int64(i)], want) {
				t.Errorf("prompt of %d: %v, want %v", n, h.tokens[int64(i)], want)
			}
		}
		batch := []*job{newJob(10, prompt(150, 150), 5, false), newJob(11, prompt(4, 150), 5, false), newJob(12, prompt(5, 150), 5, false)}
		g.run(batch)
		if !slices.Equal(h.tokens[10], h.tokens[2]) {
			t.Errorf("in a batch: %v, alone %v", h.tokens[10], h.tokens[2])
		}
		if want := greedy(m, batch[2].prompt, 5); !slices.Equal(h.tokens[12], want) {
			t.Errorf("third of the batch: %v, want %v", h.tokens[12], want)
		}
		if over != 6 {
			t.Errorf("%d jobs are over, want 6", over)
		}
		stats := h.done[10]
		if stats.PromptTokens != 150 || stats.GenerationTokens != 5 || stats.FinishReason != FinishLength || stats.BatchStreams != 3 {
			t.Errorf("statistics %+v", stats)
		}
		if stats.PromptTPS == nil || stats.GenerationTPS == nil || stats.PeakMemoryBytes == nil || *stats.PeakMemoryBytes < 1<<16 {
			t.Errorf("statistics lack something: %+v", stats)
		}
	})
}

// TestBanHolds makes tokens that the model loves its end of sequence.
func TestBanHolds(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		ids := prompt(7, 30)
		free := greedy(tiny(t, s), ids, 40)
		eos := []int32{free[5], free[20], free[39]}
		m := tiny(t, s, eos...)
		stop := slices.IndexFunc(free, func(id int32) bool { return slices.Contains(eos, id) })

		h := listen(t)
		g := newGenerator(m, h.write, func(*job) {})
		g.run([]*job{newJob(1, ids, 40, false)})
		if !slices.Equal(h.tokens[1], free[:stop]) || h.done[1].FinishReason != FinishStop || h.done[1].GenerationTokens != int64(stop) {
			t.Errorf("without the ban: %v, %+v; want %v", h.tokens[1], h.done[1], free[:stop])
		}
		g.run([]*job{newJob(2, ids, 500, true)})
		if len(h.tokens[2]) != 500 || h.done[2].FinishReason != FinishLength {
			t.Fatalf("with the ban: %d tokens, %+v", len(h.tokens[2]), h.done[2])
		}
		for i, id := range h.tokens[2] {
			if slices.Contains(eos, id) {
				t.Fatalf("banned token %d came at %d", id, i)
			}
		}
	})
}

// TestStreamsEndApart: a stream that stops or is cancelled leaves the others as
// they would be alone.
func TestStreamsEndApart(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		a, b, c := prompt(1, 20), prompt(2, 20), prompt(3, 20)
		plain := tiny(t, s)
		free := greedy(plain, a, 30)
		m := tiny(t, s, free[4])
		stop := slices.Index(free, free[4])
		wantB := greedy(plain, b, 30)
		if i := slices.Index(wantB, free[4]); i >= 0 {
			wantB = wantB[:i]
		}
		h := listen(t)
		jobs := []*job{newJob(1, a, 30, false), newJob(2, b, 30, false), newJob(3, c, 30, false)}
		h.onLine = func(f Frame) {
			if f.Stream == 3 && len(h.tokens[3]) == 2 {
				jobs[2].cancelled.Store(true)
			}
		}
		over := map[int64]int{}
		newGenerator(m, h.write, func(j *job) { over[j.ID]++ }).run(jobs)
		if !slices.Equal(h.tokens[1], free[:stop]) || h.done[1].FinishReason != FinishStop {
			t.Errorf("the stream that stops: %v, want %v", h.tokens[1], free[:stop])
		}
		if !slices.Equal(h.tokens[2], wantB) {
			t.Errorf("the stream that goes on: %v, want %v", h.tokens[2], wantB)
		}
		if len(h.tokens[3]) != 2 || h.done[3] != nil {
			t.Errorf("the cancelled stream: %v, %+v", h.tokens[3], h.done[3])
		}
		if over[1] != 1 || over[2] != 1 || over[3] != 1 {
			t.Errorf("over: %v", over)
		}
	})
}

func TestCancelDuringPrefill(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		h := listen(t)
		j := newJob(1, prompt(1, 300), 5, false)
		h.onLine = func(f Frame) {
			if f.Prefilled > 0 {
				j.cancelled.Store(true)
			}
		}
		g := newGenerator(tiny(t, s), h.write, func(*job) {})
		g.chunk = 100
		g.run([]*job{j})
		if h.writes != 1 || len(h.tokens[1]) != 0 {
			t.Errorf("%d writes and %d tokens after a cancel in the first chunk", h.writes, len(h.tokens[1]))
		}
	})
}

// TestOneWriteAStep: a step's tokens are known together, and leave together.
func TestOneWriteAStep(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		h := listen(t)
		newGenerator(tiny(t, s), h.write, func(*job) {}).run([]*job{newJob(1, prompt(1, 9), 20, true), newJob(2, prompt(2, 9), 20, true)})
		if h.writes != 20 {
			t.Errorf("%d writes for 20 steps of two streams", h.writes)
		}
	})
}

func TestGenerateRefusals(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		m := tiny(t, s)
		m.Config.MaxPositions = 100
		h := listen(t)
		over := 0
		g := newGenerator(m, h.write, func(*job) { over++ })
		g.run([]*job{newJob(1, prompt(1, 90), 11, false)})
		if !strings.Contains(h.errors[1], "at most 100") {
			t.Errorf("too long: %q", h.errors[1])
		}
		m.Config.MaxPositions = 0
		g.run([]*job{newJob(2, prompt(1, 90), 1<<40, false)})
		if !strings.Contains(h.errors[2], "GiB") {
			t.Errorf("too much memory: %q", h.errors[2])
		}
		if over != 2 {
			t.Errorf("%d jobs are over, want 2", over)
		}
	})
}

// TestNothingIsLeft holds that a step leaves the number of arrays as it was, and
// over 500 steps the memory that they take.
func TestNothingIsLeft(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		m := tiny(t, s)
		h := listen(t)
		g := newGenerator(m, h.write, func(*job) {})
		before := s.Live()
		var live []int
		var active []int64
		h.onLine = func(f Frame) {
			if f.Token != nil && f.Stream == 1 {
				live = append(live, s.Live())
				if a := s.Active(); a != nil {
					active = append(active, *a)
				}
			}
		}
		g.run([]*job{newJob(1, prompt(1, 50), 520, true), newJob(2, prompt(2, 50), 520, true)})
		for i := 2; i < len(live)-2; i++ { // at the ends fewer steps are under way
			if live[i] != live[2] {
				t.Errorf("%d arrays at token %d, %d at token 2", live[i], i, live[2])
				break
			}
		}
		if len(active) > 0 {
			early, late := slices.Max(active[10:60]), slices.Max(active[460:510])
			if late > early+64<<10 { // attention's scores grow with the context
				t.Errorf("%d bytes at 500 tokens, %d at 50", late, early)
			}
		}
		if left := s.Live(); left != before || len(live) != 520 {
			t.Errorf("%d arrays after %d tokens, %d before", left, len(live), before)
		}
	})
}

func TestAlike(t *testing.T) {
	jobs := []*job{newJob(1, prompt(1, 5), 9, true), newJob(2, prompt(1, 6), 9, true), newJob(3, prompt(2, 5), 9, true),
		newJob(4, prompt(1, 5), 8, true), newJob(5, prompt(1, 5), 9, false)}
	var got [][]int64
	for _, b := range alike(jobs) {
		var ids []int64
		for _, j := range b {
			ids = append(ids, j.ID)
		}
		got = append(got, ids)
	}
	if len(got) != 4 || !slices.Equal(got[0], []int64{1, 3}) {
		t.Errorf("got %v", got)
	}
}
