//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package lazy

import (
	"encoding/binary"
	"math"

	"tokwatt/mlx/internal/backend"
	"tokwatt/mlx/internal/capi"
)

// array is a matrix of rows × cols. In what shape MLX has it says its form.
type array struct {
	h          capi.Handle
	rows, cols int
	form       form
}

func (a *array) Rows() int { return a.rows }
func (a *array) Cols() int { return a.cols }

type form uint8

const (
	plain   form = iota // [rows, cols]
	loose               // any shape with the same elements in the same order
	byHeads             // [streams, heads, tokens, dim]
)

// matrix makes an array plain and gives its handle, which remains the array's.
func (b *Backend) matrix(a *array) capi.Handle {
	if a.form == plain {
		return a.h
	}
	old := a.h
	if a.form == byHeads {
		a.h = b.TransposeAxes(old, 0, 2, 1, 3)
		b.Library.Free(old)
		old = a.h
	}
	a.h = b.Reshape(old, int32(a.rows), int32(a.cols))
	b.Library.Free(old)
	a.form = plain
	return a.h
}

// split is an array by heads. The handle is the caller's.
func (b *Backend) split(a *array, heads, streams int) capi.Handle {
	apart := b.Reshape(a.h, int32(streams), int32(a.rows/streams), int32(heads), int32(a.cols/heads))
	defer b.Library.Free(apart)
	return b.TransposeAxes(apart, 0, 2, 1, 3)
}

// rope has, for each pair of dimensions, how many positions turn it by one
// radian.
type rope struct {
	periods     capi.Handle
	pairs       int
	interleaved bool
}

func (r *rope) Dims() int { return 2 * r.pairs }

// Rope makes the array of periods.
func (b *Backend) Rope(freqs []float64, interleaved bool) backend.Rope {
	var raw []byte
	for _, f := range freqs {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(1/f)))
	}
	return &rope{periods: b.NewData(raw, capi.Float32, int32(len(freqs))), pairs: len(freqs), interleaved: interleaved}
}

// Turn turns an array, which stays by heads.
func (b *Backend) Turn(x backend.Array, r backend.Rope, heads, seq, offset int) backend.Array {
	in, turn := x.(*array), r.(*rope)
	if in.form == byHeads {
		b.matrix(in)
	}
	streams := in.rows / seq
	apart := b.split(in, heads, streams)
	defer b.Library.Free(apart)
	return &array{h: b.RoPE(apart, turn.Dims(), turn.interleaved, offset, turn.periods),
		rows: in.rows, cols: in.cols, form: byHeads}
}

// tokens are ids [n] with their scores [n], or None.
type tokens struct {
	ids, scores capi.Handle
	n           int
}

func (t *tokens) Len() int { return t.n }

// Tokens copies ids.
func (b *Backend) Tokens(ids []int32) backend.Tokens {
	return &tokens{ids: b.indices(ids), n: len(ids)}
}

func (b *Backend) indices(ids []int32) capi.Handle {
	var raw []byte
	for _, id := range ids {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(id))
	}
	return b.NewData(raw, capi.Uint32, int32(len(ids)))
}

// Argmax finds ids, and their scores by them.
func (b *Backend) Argmax(x backend.Array) backend.Tokens {
	in := b.matrix(x.(*array))
	t := &tokens{n: x.Rows(), ids: b.ArgmaxAxis(in, 1, false)}
	column := b.Reshape(t.ids, int32(t.n), 1)
	scores := b.TakeAlongAxis(in, column, 1)
	t.scores = b.AsType(scores, capi.Float32)
	b.Library.Free(column)
	b.Library.Free(scores)
	return t
}

// Pick gathers tokens.
func (b *Backend) Pick(bt backend.Tokens, at []int) backend.Tokens {
	t := bt.(*tokens)
	rows := make([]int32, len(at))
	for i, r := range at {
		rows[i] = int32(r)
	}
	ids := b.indices(rows)
	defer b.Library.Free(ids)
	return &tokens{n: len(at), ids: b.TakeAxis(t.ids, ids, 0), scores: b.TakeAxis(t.scores, ids, 0)}
}

// Start begins to compute.
func (b *Backend) Start(bt backend.Tokens) {
	t := bt.(*tokens)
	b.AsyncEval(t.ids, t.scores)
}

// ReadTokens waits.
func (b *Backend) ReadTokens(bt backend.Tokens) ([]int32, []float32, error) {
	t := bt.(*tokens)
	var ids []int32
	for _, id := range b.Uint32s(t.ids) {
		ids = append(ids, int32(id))
	}
	var scores []float32
	if t.scores != capi.None {
		scores = b.Float32s(t.scores)
	}
	if b.reads%clearEvery == 0 {
		b.ClearCache()
	}
	b.reads++
	return ids, scores, b.Err()
}

// FreeTokens gives up tokens.
func (b *Backend) FreeTokens(bt backend.Tokens) {
	t := bt.(*tokens)
	b.Library.Free(t.ids)
	b.Library.Free(t.scores)
	t.ids, t.scores = capi.None, capi.None
}
