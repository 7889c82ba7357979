package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"tokwatt/mlx"
	"tokwatt/mlx/model"
)

// How many tokens of a prompt, of all streams together, are taken through the
// model at once. In main memory more make the products no faster, and cost
// memory and the time until a cancelled request is noticed. With MLX it is what
// mlx_lm takes.
const (
	chunkRows     = 512
	lazyChunkRows = 2048
)

// job is a request on its way.
type job struct {
	Request
	prompt    []int32
	cancelled atomic.Bool
}

// generator runs batches.
type generator struct {
	model  *model.Model
	stream *mlx.Stream          // the model's
	chunk  int                  // rows of a prompt taken through the model at once
	ban    mlx.Array            // −∞ on every end of sequence, else 0
	left   *leftover            // what the last request left for the next
	write  func(lines []byte)   // sends frames, all at once
	over   func(j *job)         // is told when a request is over
	now    func() time.Duration // monotonic
}

func newGenerator(m *model.Model, write func([]byte), over func(*job)) *generator {
	bias := make([]float32, m.Config.Vocab)
	for _, id := range m.Config.EOS {
		bias[id] = float32(math.Inf(-1))
	}
	began := time.Now()
	g := &generator{
		model: m, stream: m.Stream, chunk: chunkRows, ban: m.Stream.NewArray(bias, 1, len(bias)),
		write: write, over: over, now: func() time.Duration { return time.Since(began) },
	}
	if m.Stream.Info().Lazy {
		g.chunk = lazyChunkRows
	}
	return g
}

// row is a stream of a running batch.
type row struct {
	*job
	n           int           // tokens generated
	first, last time.Duration // when the first and the newest were known
}

// batch is a running batch: rows[i] is stream i of the cache.
type batch struct {
	*generator
	rows    []row
	streams int // at the start
	cache   *model.Cache
	cached  int     // tokens of the prompt that the cache had at the start
	hit     string  // what that was of the prompt
	fed     []int32 // tokens of the first stream, in the order in which they go into the cache
	failed  bool
	start   time.Duration
	out     []byte // frames not yet written
}

// run generates for jobs, whose prompts are of one length, whose limits are
// equal and of which all or none ban the end of sequence.
func (g *generator) run(jobs []*job) {
	b := &batch{generator: g, streams: len(jobs), start: g.now()}
	for _, j := range jobs {
		b.rows = append(b.rows, row{job: j})
	}
	capacity := len(jobs[0].prompt) + jobs[0].MaxTokens
	if err := g.fits(len(jobs), capacity); err != nil {
		b.fail(err)
		return
	}
	g.stream.ResetPeak()
	b.take(capacity)
	b.fed = slices.Clone(jobs[0].prompt)
	defer b.leave(len(jobs) == 1 && jobs[0].Prefix)
	if next := b.prefill(); next != nil {
		b.decode(next)
	}
}

// decode generates from the first tokens on. Where computing goes on beside us,
// a step begins before the tokens of the one before it are read: then reading
// costs no time.
func (b *batch) decode(tokens mlx.Tokens) {
	s := b.stream
	for tokens != nil {
		var next mlx.Tokens
		if s.Info().Lazy && b.rows[0].n+1 < b.rows[0].MaxTokens {
			next = b.step(tokens)
		}
		ids, scores, err := s.ReadTokens(tokens)
		s.FreeTokens(tokens)
		if err == nil {
			err = sane(scores)
		}
		if err != nil {
			b.fail(err)
		} else {
			b.fed = append(b.fed, ids[0])
			if at := b.emit(ids); len(at) < len(ids) || next == nil {
				next = b.after(next, ids, at)
			}
		}
		if len(b.rows) == 0 && next != nil {
			s.FreeTokens(next)
			b.model.Settle(b.cache) // what was begun must not meet the next request
			return
		}
		tokens = next
	}
}

// after is the next tokens of the rows at, which are those left: of the step
// that was begun with all, or of one that begins now.
func (b *batch) after(begun mlx.Tokens, ids []int32, at []int) mlx.Tokens {
	if len(at) == 0 {
		return begun
	}
	if begun != nil {
		defer b.stream.FreeTokens(begun)
		return b.stream.Pick(begun, at)
	}
	left := make([]int32, len(at))
	for i, r := range at {
		left[i] = ids[r]
	}
	tokens := b.stream.Tokens(left)
	defer b.stream.FreeTokens(tokens)
	return b.step(tokens)
}

// fits checks the length against what the model was made for, and the memory.
func (g *generator) fits(streams, tokens int) error {
	if most := g.model.Config.MaxPositions; most > 0 && tokens > most {
		return fmt.Errorf("prompt and output make %d tokens, and the model takes at most %d", tokens, most)
	}
	need := g.model.Config.HeldBy(g.stream.Info()).KVBytes() * int64(streams) * int64(tokens)
	return model.CheckMemory(fmt.Sprintf("the cache of %d streams of %d tokens", streams, tokens), need)
}

// prefill takes the prompts through the model, to the first token of each. It
// is nil if all are cancelled, or failed.
func (b *batch) prefill() mlx.Tokens {
	length, chunk := len(b.rows[0].prompt), max(1, b.chunk/len(b.rows))
	for at := b.cached; ; at += chunk {
		b.keep(func(r int) bool { return !b.rows[r].cancelled.Load() })
		if len(b.rows) == 0 {
			return nil
		}
		end := min(at+chunk, length)
		var ids []int32
		for _, r := range b.rows {
			ids = append(ids, r.prompt[at:end]...)
		}
		tokens := b.stream.Tokens(ids)
		if end == length {
			defer b.stream.FreeTokens(tokens)
			return b.step(tokens)
		}
		b.stream.Scope(func() mlx.Array {
			b.model.Newest(tokens, b.cache)
			return nil
		})
		b.stream.FreeTokens(tokens)
		if err := b.model.Settle(b.cache); err != nil {
			b.fail(err)
			return nil
		}
		for _, r := range b.rows {
			b.out = appendFrame(b.out, Frame{Stream: r.ID, Prefilled: int64(end)})
		}
		b.flush()
	}
}

// step takes tokens into the cache and begins to compute the next of each
// stream.
func (b *batch) step(tokens mlx.Tokens) mlx.Tokens {
	s := b.stream
	var next mlx.Tokens
	s.Scope(func() mlx.Array {
		logits := b.model.Logits(b.model.Newest(tokens, b.cache))
		if b.rows[0].BanEOS {
			logits = s.AddRow(logits, b.ban)
		}
		next = s.Argmax(logits)
		return nil
	})
	s.Start(next) // after its inputs were freed, so that their memory is used anew
	return next
}

// sane is an error if a score is not a number.
func sane(scores []float32) error {
	for _, v := range scores {
		if v := float64(v); math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("the model's output is not a number: its weights are damaged, or not meant for the type they are in")
		}
	}
	return nil
}
