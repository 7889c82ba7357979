package engine

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"tokwatt/mlx"
	"tokwatt/mlx/model"
)

// chunkRows is how many tokens of a prompt, of all streams together, are taken
// through the model at once. More make the products no faster, and cost memory
// and the time until a cancelled request is noticed.
const chunkRows = 512

// job is a request on its way.
type job struct {
	Request
	prompt    []int32
	cancelled atomic.Bool
}

// generator runs batches.
type generator struct {
	model  *model.Model
	stream *mlx.Stream
	ban    *mlx.Array           // −∞ on every end of sequence, else 0
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
	return &generator{
		model: m, stream: mlx.NewStream(), ban: mlx.NewArray(bias, 1, len(bias)),
		write: write, over: over, now: func() time.Duration { return time.Since(began) },
	}
}

// row is a stream of a running batch.
type row struct {
	*job
	next        int32         // the newest token
	n           int           // tokens generated
	first, last time.Duration // when the first and the newest were known
}

// batch is a running batch: rows[i] is stream i of the cache.
type batch struct {
	*generator
	rows    []row
	streams int // at the start
	cache   *model.Cache
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
		b.fail(err.Error())
		return
	}
	b.cache = g.model.NewCache(len(jobs), capacity)
	ok := b.prefill()
	for ok && b.emit() {
		ok = b.step(b.newest())
	}
}

// fits checks the length against what the model was made for, and the memory.
func (g *generator) fits(streams, tokens int) error {
	if most := g.model.Config.MaxPositions; most > 0 && tokens > most {
		return fmt.Errorf("prompt and output make %d tokens, and the model takes at most %d", tokens, most)
	}
	need := g.model.Config.KVBytes() * int64(streams) * int64(tokens)
	return model.CheckMemory(fmt.Sprintf("the cache of %d streams of %d tokens", streams, tokens), need)
}

// prefill takes the prompts through the model, to the first token of each. It
// reports whether there is one.
func (b *batch) prefill() bool {
	length, chunk := len(b.rows[0].prompt), max(1, chunkRows/len(b.rows))
	for at := 0; ; at += chunk {
		b.keep(func(r *row) bool { return !r.cancelled.Load() })
		if len(b.rows) == 0 {
			return false
		}
		end := min(at+chunk, length)
		var ids []int32
		for _, r := range b.rows {
			ids = append(ids, r.prompt[at:end]...)
		}
		if end == length {
			return b.step(ids)
		}
		b.stream.Scope(func() *mlx.Array {
			b.model.Newest(b.stream, ids, b.cache)
			return nil
		})
		for _, r := range b.rows {
			b.out = appendFrame(b.out, Frame{Stream: r.ID, Prefilled: int64(end)})
		}
		b.flush()
	}
}

// newest are the newest tokens, one of each stream.
func (b *batch) newest() []int32 {
	ids := make([]int32, len(b.rows))
	for i, r := range b.rows {
		ids[i] = r.next
	}
	return ids
}

// step takes tokens into the cache and finds the next of each stream. It
// reports whether that went well.
func (b *batch) step(ids []int32) bool {
	s, sane := b.stream, true
	s.Scope(func() *mlx.Array {
		logits := b.model.Logits(s, b.model.Newest(s, ids, b.cache))
		if b.rows[0].BanEOS {
			logits = s.Add(logits, b.ban)
		}
		for i, id := range s.Argmax(logits) {
			b.rows[i].next = id
			v := float64(logits.Row(i)[id])
			sane = sane && !math.IsNaN(v) && !math.IsInf(v, 0)
		}
		return nil
	})
	if !sane {
		b.fail("the model's output is not a number: its weights are damaged, or not meant for float32")
	}
	return sane
}

// emit writes the newest token of every stream, all at once, and lets go the
// streams that are over. It reports whether any is left.
func (b *batch) emit() bool {
	now := b.now()
	b.keep(func(r *row) bool {
		switch {
		case r.cancelled.Load():
			return false
		case !r.BanEOS && slices.Contains(b.model.Config.EOS, r.next):
			b.done(r, FinishStop, now)
			return false
		}
		if r.n == 0 {
			r.first = now
		}
		r.n++
		r.last = now
		b.out = appendToken(b.out, r.ID, r.next, model.TokenText(r.next))
		if r.n == r.MaxTokens {
			b.done(r, FinishLength, now)
			return false
		}
		return true
	})
	b.flush()
	return len(b.rows) > 0
}

// keep lets go the streams for which stay is false.
func (b *batch) keep(stay func(r *row) bool) {
	var rows []row
	var at []int
	for i := range b.rows {
		if stay(&b.rows[i]) {
			rows, at = append(rows, b.rows[i]), append(at, i)
		} else {
			b.over(b.rows[i].job)
		}
	}
	if len(rows) < len(b.rows) {
		b.cache.Keep(at)
	}
	b.rows = rows
}

// done appends the statistics of a stream that is complete. They are written
// with its last token.
func (b *batch) done(r *row, reason string, now time.Duration) {
	s := &Stats{
		PromptTokens: int64(len(r.prompt)), GenerationTokens: int64(r.n), FinishReason: reason,
		BatchStreams: b.streams, PrefixCacheHit: "none", PeakMemoryBytes: peakMemory(), PeakMemoryScope: "process",
		Threads: b.stream.Threads(), PrefillChunk: chunkRows,
	}
	if r.n == 0 {
		r.first = now
	}
	s.PrefillS = (r.first - b.start).Seconds()
	s.PromptTPS = rate(len(r.prompt), r.first-b.start)
	s.GenerationTPS = rate(r.n-1, r.last-r.first)
	b.out = appendFrame(b.out, Frame{Stream: r.ID, Done: s})
}

// rate is n per second, nil where there is nothing to divide.
func rate(n int, span time.Duration) *float64 {
	if n < 1 || span <= 0 {
		return nil
	}
	r := float64(n) / span.Seconds()
	return &r
}

// fail ends every stream with an error.
func (b *batch) fail(why string) {
	for _, r := range b.rows {
		b.out = appendFrame(b.out, Frame{Stream: r.ID, Error: why})
		b.over(r.job)
	}
	b.rows = nil
	b.flush()
}

func (b *batch) flush() {
	if len(b.out) > 0 {
		b.write(b.out)
		b.out = b.out[:0]
	}
}
