//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package lazy

import (
	"tokwatt/mlx/internal/backend"
	"tokwatt/mlx/internal/capi"
)

// clearEvery is after how many steps freed memory goes back to the system, as
// in mlx_lm. Without it, what grows by one token a step is never reused.
const clearEvery = 256

// Backend computes with MLX.
type Backend struct {
	*capi.Library
	reads   int           // of tokens
	handles []capi.Handle // scratch
}

var _ backend.Backend = (*Backend)(nil)

// Open loads MLX's library: named, or one that is found.
func Open(named string) (backend.Backend, error) {
	l, err := capi.Open(named)
	if err != nil {
		return nil, err
	}
	b := &Backend{Library: l}
	if most := l.Info().MaxWorkingSet; l.Info().GPU && most > 0 {
		// Weights that are swapped out cost a model near the limit its speed.
		l.Do(func() { l.SetWiredLimit(most); err = l.Err() })
	}
	return b, err
}

// Info is what is known of MLX and its device.
func (b *Backend) Info() backend.Info {
	i := b.Library.Info()
	device := "cpu"
	if i.GPU {
		device = "gpu"
	}
	return backend.Info{
		Name: "mlx", Version: i.Version, Library: i.Path, LibrarySHA: i.SHA256, ForceFused: i.ForceFused,
		Device: device, DeviceName: i.Device, Architecture: i.Architecture, Memory: i.Memory, WorkingSet: i.MaxWorkingSet,
		Lazy: true, KeepsTypes: true,
	}
}

// types are MLX's names of the types of weights.
var types = map[backend.DType]capi.DType{backend.F32: capi.Float32, backend.F16: capi.Float16, backend.BF16: capi.BFloat16}

// Array copies raw.
func (b *Backend) Array(t backend.DType, raw []byte, rows, cols int) backend.Array {
	// A row alone is a vector to MLX: the weight of a norm, a bias.
	if rows == 1 {
		return &array{h: b.NewData(raw, types[t], int32(cols)), rows: 1, cols: cols, form: loose}
	}
	return &array{h: b.NewData(raw, types[t], int32(rows), int32(cols)), rows: rows, cols: cols}
}

// weight is a matrix of floats, or of words with scales and biases.
type weight struct {
	outputs, inputs       int
	plain                 capi.Handle // outputs × inputs
	turned                capi.Handle // the same, transposed
	words, scales, biases capi.Handle
	group, bits           int
}

func (w *weight) Outputs() int { return w.outputs }
func (w *weight) Inputs() int  { return w.inputs }

// Dense is a weight over an array.
func (b *Backend) Dense(a backend.Array) backend.Weight {
	h := b.matrix(a.(*array))
	return &weight{outputs: a.Rows(), inputs: a.Cols(), plain: h, turned: b.SwapAxes(h, 0, 1)}
}

// Quantized copies a weight.
func (b *Backend) Quantized(q backend.Quantized) backend.Weight {
	rows, groups := int32(q.Outputs), int32(q.Inputs/q.Group)
	return &weight{
		outputs: q.Outputs, inputs: q.Inputs, group: q.Group, bits: q.Bits,
		words:  b.NewData(q.Words, capi.Uint32, rows, int32(q.Inputs*q.Bits/32)),
		scales: b.NewData(q.Scales, types[q.Type], rows, groups),
		biases: b.NewData(q.Biases, types[q.Type], rows, groups),
	}
}

// Take is a gather, then unpacked where quantized.
func (b *Backend) Take(bw backend.Weight, ids backend.Tokens) backend.Array {
	w, at := bw.(*weight), ids.(*tokens).ids
	y := &array{rows: ids.Len(), cols: w.inputs}
	if w.words == capi.None {
		y.h = b.TakeAxis(w.plain, at, 0)
		return y
	}
	words, scales, biases := b.TakeAxis(w.words, at, 0), b.TakeAxis(w.scales, at, 0), b.TakeAxis(w.biases, at, 0)
	y.h = b.Dequantize(words, scales, biases, w.group, w.bits)
	b.Library.Free(words)
	b.Library.Free(scales)
	b.Library.Free(biases)
	return y
}

// Linear is a product, with a bias added as mlx_lm does: within the product of
// floats, after that with packed weights.
func (b *Backend) Linear(x backend.Array, bw backend.Weight, bias backend.Array) backend.Array {
	w, in := bw.(*weight), b.matrix(x.(*array))
	y := &array{rows: x.Rows(), cols: w.outputs}
	switch {
	case w.words != capi.None:
		y.h = b.QuantizedMatmul(in, w.words, w.scales, w.biases, w.group, w.bits)
		if bias != nil {
			product := y.h
			y.h = b.Library.Add(product, bias.(*array).h)
			b.Library.Free(product)
		}
	case bias != nil:
		y.h = b.AddMM(bias.(*array).h, in, w.turned)
	default:
		y.h = b.Matmul(in, w.turned)
	}
	return y
}

// Add is a sum.
func (b *Backend) Add(x, z backend.Array) backend.Array {
	return &array{h: b.Library.Add(b.matrix(x.(*array)), b.matrix(z.(*array))), rows: x.Rows(), cols: x.Cols()}
}

// AddRow is a sum in the type of x: a row of another type must not make all
// that follows wider.
func (b *Backend) AddRow(x, row backend.Array) backend.Array {
	in, add := b.matrix(x.(*array)), row.(*array).h
	if t := b.TypeOf(in); t != b.TypeOf(add) {
		add = b.AsType(add, t)
		defer b.Library.Free(add)
	}
	return &array{h: b.Library.Add(in, add), rows: x.Rows(), cols: x.Cols()}
}

// RMSNorm norms along the last axis, which is a head where w is as long.
func (b *Backend) RMSNorm(x, w backend.Array, eps float32) backend.Array {
	in, scale := b.matrix(x.(*array)), w.(*array).h
	y := &array{rows: x.Rows(), cols: x.Cols()}
	if w.Cols() == x.Cols() {
		y.h = b.Library.RMSNorm(in, scale, eps)
		return y
	}
	heads := b.Reshape(in, int32(x.Rows()), int32(x.Cols()/w.Cols()), int32(w.Cols()))
	y.h, y.form = b.Library.RMSNorm(heads, scale, eps), loose
	b.Library.Free(heads)
	return y
}

// SwiGLU is three operations.
func (b *Backend) SwiGLU(gate, up backend.Array) backend.Array {
	g := b.matrix(gate.(*array))
	s := b.Sigmoid(g)
	silu := b.Multiply(g, s)
	y := b.Multiply(silu, b.matrix(up.(*array)))
	b.Library.Free(s)
	b.Library.Free(silu)
	return &array{h: y, rows: gate.Rows(), cols: gate.Cols()}
}

// Rows is a gather of rows.
func (b *Backend) Rows(x backend.Array, at []int32) backend.Array {
	ids := b.indices(at)
	defer b.Library.Free(ids)
	return &array{h: b.TakeAxis(b.matrix(x.(*array)), ids, 0), rows: len(at), cols: x.Cols()}
}

// Read computes and copies.
func (b *Backend) Read(a backend.Array) ([]float32, error) {
	out := b.Floats(b.matrix(a.(*array)))
	return out, b.Err()
}

// Settle computes the caches and waits.
func (b *Backend) Settle(caches []backend.Cache) error {
	b.handles = b.handles[:0]
	for _, c := range caches {
		b.handles = append(b.handles, c.(*cache).keys, c.(*cache).values)
	}
	b.Eval(b.handles...)
	b.Synchronize()
	b.ClearCache()
	return b.Err()
}

// Free gives up an array.
func (b *Backend) Free(a backend.Array) {
	x := a.(*array)
	b.Library.Free(x.h)
	x.h = capi.None
}

// Clear gives freed memory back.
func (b *Backend) Clear() { b.ClearCache() }

// Kept is 0: MLX bounds what it keeps.
func (b *Backend) Kept() int64 { return 0 }

// Active is MLX's own count.
func (b *Backend) Active() *int64 {
	n := b.ActiveMemory()
	return &n
}

// Peak is MLX's own count.
func (b *Backend) Peak() *int64 {
	n := b.PeakMemory()
	return &n
}

// ResetPeak starts the count anew, and that of steps.
func (b *Backend) ResetPeak() {
	b.reads = 0
	b.ResetPeakMemory()
}
