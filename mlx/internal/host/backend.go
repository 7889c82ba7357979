package host

import (
	"errors"
	"slices"
	"unsafe"

	"tokwatt/mlx/internal/backend"
)

// Backend is package backend's interface over a [CPU]: every operation is done
// when it returns.
type Backend struct {
	cpu  *CPU
	free map[int][][]float32 // memory of past arrays, by length
	live int                 // results that were not given up
}

var _ backend.Backend = (*Backend)(nil)

// NewBackend makes a backend on a number of threads.
func NewBackend(threads int) *Backend {
	return &Backend{cpu: NewCPU(threads), free: map[int][][]float32{}}
}

// array is a matrix, row-major. Its data is nil once it is free.
type array struct {
	rows, cols int
	data       []float32
}

func (a *array) Rows() int { return a.rows }
func (a *array) Cols() int { return a.cols }

// dense is a weight of floats.
type dense struct{ *array }

func (d dense) Outputs() int { return d.rows }
func (d dense) Inputs() int  { return d.cols }

// tokens are ids with their scores; those that the caller gave have none.
type tokens struct {
	ids    []int32
	scores []float32
}

func (t *tokens) Len() int { return len(t.ids) }

// rope is a rotation and which dimensions make its pairs.
type rope struct {
	*Rotation
	interleaved bool
}

// Info is what is known of the backend.
func (b *Backend) Info() backend.Info {
	return backend.Info{Name: "host", Device: "cpu", Threads: b.cpu.Threads()}
}

// Do runs f: any goroutine will do.
func (b *Backend) Do(f func()) { f() }

// Array decodes raw. Elements that are float32 already are not copied.
func (b *Backend) Array(t backend.DType, raw []byte, rows, cols int) backend.Array {
	return &array{rows, cols, floats(t, raw)}
}

// floats are the elements of raw. Those that are float32 are raw's own memory.
func floats(t backend.DType, raw []byte) []float32 {
	start := unsafe.Pointer(unsafe.SliceData(raw))
	if t == backend.F32 && littleEndian && uintptr(start)%4 == 0 {
		return unsafe.Slice((*float32)(start), len(raw)/4)
	}
	out := make([]float32, len(raw)/t.Size())
	t.Decode(out, raw)
	return out
}

var littleEndian = func() bool { n := uint16(1); return *(*byte)(unsafe.Pointer(&n)) == 1 }()

// Dense is a weight over an array.
func (b *Backend) Dense(a backend.Array) backend.Weight { return dense{a.(*array)} }

// Rope makes a table of angles.
func (b *Backend) Rope(freqs []float64, interleaved bool) backend.Rope {
	return rope{NewRotation(freqs), interleaved}
}

// Tokens are the caller's ids.
func (b *Backend) Tokens(ids []int32) backend.Tokens { return &tokens{ids: ids} }

// make is an array whose elements are not set.
func (b *Backend) make(rows, cols int) *array {
	b.live++
	n := rows * cols
	if old := b.free[n]; len(old) > 0 {
		b.free[n] = old[:len(old)-1]
		return &array{rows, cols, old[len(old)-1]}
	}
	return &array{rows, cols, make([]float32, n)}
}

// Take copies or unpacks rows.
func (b *Backend) Take(w backend.Weight, ids backend.Tokens) backend.Array {
	y := b.make(ids.Len(), w.Inputs())
	switch w := w.(type) {
	case dense:
		b.cpu.Take(y.data, w.data, ids.(*tokens).ids, w.cols)
	case *Packed:
		for i, id := range ids.(*tokens).ids {
			w.Unpack(y.data[i*y.cols:(i+1)*y.cols], int(id))
		}
	}
	return y
}

// Rows copies rows.
func (b *Backend) Rows(x backend.Array, at []int32) backend.Array {
	in := x.(*array)
	y := b.make(len(at), in.cols)
	b.cpu.Take(y.data, in.data, at, in.cols)
	return y
}

// Linear is a product of matrices, and a bias.
func (b *Backend) Linear(x backend.Array, w backend.Weight, bias backend.Array) backend.Array {
	in := x.(*array)
	y := b.make(in.rows, w.Outputs())
	switch w := w.(type) {
	case dense:
		b.cpu.MatmulT(y.data, in.data, w.data, in.rows, w.rows, w.cols)
	case *Packed:
		b.cpu.MatmulPacked(y.data, in.data, w, in.rows)
	}
	if bias != nil {
		b.cpu.AddRow(y.data, bias.(*array).data)
	}
	return y
}

// Add is a sum.
func (b *Backend) Add(x, z backend.Array) backend.Array {
	y := b.make(x.Rows(), x.Cols())
	b.cpu.Add(y.data, x.(*array).data, z.(*array).data)
	return y
}

// AddRow adds to each row.
func (b *Backend) AddRow(x, row backend.Array) backend.Array {
	y := b.make(x.Rows(), x.Cols())
	copy(y.data, x.(*array).data)
	b.cpu.AddRow(y.data, row.(*array).data)
	return y
}

// RMSNorm norms runs.
func (b *Backend) RMSNorm(x, w backend.Array, eps float32) backend.Array {
	y := b.make(x.Rows(), x.Cols())
	b.cpu.RMSNorm(y.data, x.(*array).data, w.(*array).data, w.Cols(), eps)
	return y
}

// SwiGLU is element by element.
func (b *Backend) SwiGLU(gate, up backend.Array) backend.Array {
	y := b.make(gate.Rows(), gate.Cols())
	b.cpu.SwiGLU(y.data, gate.(*array).data, up.(*array).data)
	return y
}

// Turn turns heads.
func (b *Backend) Turn(x backend.Array, r backend.Rope, heads, seq, offset int) backend.Array {
	y := b.make(x.Rows(), x.Cols())
	copy(y.data, x.(*array).data)
	turn := r.(rope)
	b.cpu.RoPE(y.data, turn.Rotation, heads, x.Cols()/heads, seq, offset, turn.interleaved)
	return y
}

// Attention is against the cache's slices.
func (b *Backend) Attention(q backend.Array, c backend.Cache, heads int) backend.Array {
	kv := c.(*cache)
	y := b.make(q.Rows(), q.Cols())
	streams := len(kv.keys) / kv.heads
	b.cpu.Attention(y.data, q.(*array).data, kv.keys, kv.values, Heads{Query: heads, KV: kv.heads, Dim: kv.dim},
		streams, q.Rows()/streams, len(kv.keys[0])/kv.dim)
	return y
}

// Argmax looks at each row.
func (b *Backend) Argmax(x backend.Array) backend.Tokens {
	in, t := x.(*array), &tokens{}
	for row := range slices.Chunk(in.data, in.cols) {
		at := Argmax(row)
		t.ids, t.scores = append(t.ids, int32(at)), append(t.scores, row[at])
	}
	return t
}

// Pick is some of tokens.
func (b *Backend) Pick(t backend.Tokens, at []int) backend.Tokens {
	from, to := t.(*tokens), &tokens{}
	for _, i := range at {
		to.ids = append(to.ids, from.ids[i])
		if from.scores != nil {
			to.scores = append(to.scores, from.scores[i])
		}
	}
	return to
}

// Start has nothing left to do.
func (b *Backend) Start(backend.Tokens) {}

// ReadTokens gives what is there.
func (b *Backend) ReadTokens(t backend.Tokens) ([]int32, []float32, error) {
	return t.(*tokens).ids, t.(*tokens).scores, nil
}

// errFreed is a fault in the code.
var errFreed = errors.New("the array was given up")

// Read copies an array.
func (b *Backend) Read(a backend.Array) ([]float32, error) {
	if a.(*array).data == nil {
		return nil, errFreed
	}
	return slices.Clone(a.(*array).data), nil
}

// Settle has nothing to wait for.
func (b *Backend) Settle([]backend.Cache) error { return nil }

// Free keeps the array's memory for the next of its length, so that a use after
// this is found at once.
func (b *Backend) Free(a backend.Array) {
	b.live--
	x := a.(*array)
	b.free[len(x.data)] = append(b.free[len(x.data)], x.data)
	x.data = nil
}

// FreeTokens has nothing to free.
func (b *Backend) FreeTokens(backend.Tokens) {}

// Clear forgets freed memory.
func (b *Backend) Clear() { clear(b.free) }

// Kept is the freed memory that is held on to, in bytes.
func (b *Backend) Kept() int64 {
	var n int64
	for length, arrays := range b.free {
		n += 4 * int64(length) * int64(len(arrays))
	}
	return n
}

// Live counts results.
func (b *Backend) Live() int { return b.live }

// Active is not counted.
func (b *Backend) Active() *int64 { return nil }

// Peak is not counted: the process is the measure.
func (b *Backend) Peak() *int64 { return nil }

// ResetPeak has nothing to reset.
func (b *Backend) ResetPeak() {}

// Quantized makes a weight.
func (b *Backend) Quantized(q backend.Quantized) backend.Weight { return NewPacked(q) }
