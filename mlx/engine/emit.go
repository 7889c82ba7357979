package engine

import (
	"slices"
	"time"

	"tokwatt/mlx/model"
)

// emit writes the newest token of every stream, all at once, and lets go the
// streams that are over. It returns which are left.
func (b *batch) emit(ids []int32) []int {
	now := b.now()
	left := b.keep(func(i int) bool {
		r := &b.rows[i]
		switch {
		case r.cancelled.Load():
			return false
		case !r.BanEOS && slices.Contains(b.model.Config.EOS, ids[i]):
			b.done(r, FinishStop, now)
			return false
		}
		if r.n == 0 {
			r.first = now
		}
		r.n++
		r.last = now
		b.out = appendToken(b.out, r.ID, ids[i], model.TokenText(ids[i]))
		if r.n == r.MaxTokens {
			b.done(r, FinishLength, now)
			return false
		}
		return true
	})
	b.flush()
	return left
}

// keep lets go the streams for which stay is false, and returns where those
// left were.
func (b *batch) keep(stay func(i int) bool) []int {
	var rows []row
	at := []int{}
	for i := range b.rows {
		if stay(i) {
			rows, at = append(rows, b.rows[i]), append(at, i)
		} else {
			b.over(b.rows[i].job)
		}
	}
	if len(rows) > 0 && len(rows) < len(b.rows) {
		b.cache.Keep(at)
	}
	b.rows = rows
	return at
}

// done appends the statistics of a stream that is complete. They are written
// with its last token.
func (b *batch) done(r *row, reason string, now time.Duration) {
	s := &Stats{
		PromptTokens: int64(len(r.prompt)), GenerationTokens: int64(r.n), FinishReason: reason,
		BatchStreams: b.streams, CachedTokens: int64(b.cached), PrefixCacheHit: b.hit, PeakMemoryBytes: b.stream.Peak(), PeakMemoryScope: "arrays",
		Threads: b.stream.Info().Threads, PrefillChunk: b.chunk,
	}
	if s.PeakMemoryBytes == nil {
		s.PeakMemoryBytes, s.PeakMemoryScope = peakMemory(), "process"
	}
	if r.n == 0 {
		r.first = now
	}
	s.PrefillS = (r.first - b.start).Seconds()
	s.PromptTPS = rate(len(r.prompt)-b.cached, r.first-b.start)
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
func (b *batch) fail(err error) {
	for _, r := range b.rows {
		b.out = appendFrame(b.out, Frame{Stream: r.ID, Error: err.Error()})
		b.over(r.job)
	}
	b.rows, b.failed = nil, true
	b.flush()
}

func (b *batch) flush() {
	if len(b.out) > 0 {
		b.write(b.out)
		b.out = b.out[:0]
	}
}
