//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package lazy

import (
	"tokwatt/mlx/internal/backend"
	"tokwatt/mlx/internal/capi"
)

// sortFrom is from how many choices on they are sorted by expert, so that each
// expert's weights are read once, as in mlx_lm.
const sortFrom = 64

// Stack gives a weight's arrays an axis of experts.
func (b *Backend) Stack(bw backend.Weight, n int) backend.Weight {
	w := bw.(*weight)
	stack := func(h capi.Handle, cols int) capi.Handle {
		defer b.Library.Free(h)
		return b.Reshape(h, int32(n), int32(w.outputs/n), int32(cols))
	}
	out := &weight{outputs: w.outputs, inputs: w.inputs, group: w.group, bits: w.bits}
	if w.words == capi.None {
		b.Library.Free(w.turned)
		out.plain = stack(w.plain, w.inputs)
		out.turned = b.SwapAxes(out.plain, 1, 2)
		return out
	}
	out.words = stack(w.words, w.inputs*w.bits/32)
	out.scales, out.biases = stack(w.scales, w.inputs/w.group), stack(w.biases, w.inputs/w.group)
	return out
}

// Mixture is the experts of mlx_lm's SwitchGLU. Its arrays are [rows, chosen, 1,
// columns], or where the choices are sorted [rows · chosen, 1, columns].
func (b *Backend) Mixture(x backend.Array, m backend.Mixture) backend.Array {
	t := temporaries{b: b}
	defer t.free()
	in, router := b.matrix(x.(*array)), b.matrix(m.Router.(*array))
	rows, chosen, experts, cols := int32(x.Rows()), int32(m.Chosen), int32(m.Router.Cols()), int32(x.Cols())

	gates := t.keep(b.SoftmaxAxis(router, -1))
	order := t.keep(b.ArgpartitionAxis(gates, -m.Chosen, -1))
	which := t.keep(b.Slice(order, []int32{0, experts - chosen}, []int32{rows, experts}))
	scores := t.keep(b.TakeAlongAxis(gates, which, -1))
	if m.Normalize {
		scores = t.keep(b.Divide(scores, t.keep(b.SumAxis(scores, -1, true))))
	}

	sorted := int(rows*chosen) >= sortFrom
	var back capi.Handle
	input := t.keep(b.Reshape(in, rows, 1, 1, cols))
	if sorted {
		flat := t.keep(b.Reshape(which, rows*chosen))
		by := t.keep(b.ArgsortAxis(flat, 0))
		back = t.keep(b.ArgsortAxis(by, 0))
		row := t.keep(b.FloorDivide(by, t.keep(b.indices([]int32{chosen}))))
		input = t.keep(b.TakeAxis(t.keep(b.Reshape(in, rows, 1, cols)), row, 0))
		which = t.keep(b.TakeAxis(flat, by, 0))
	}
	gate := t.keep(b.expert(input, m.Gate, which, sorted))
	up := t.keep(b.expert(input, m.Up, which, sorted))
	silu := t.keep(b.Multiply(gate, t.keep(b.Sigmoid(gate))))
	y := t.keep(b.expert(t.keep(b.Multiply(silu, up)), m.Down, which, sorted))
	if sorted {
		y = t.keep(b.TakeAxis(y, back, 0))
	}
	y = t.keep(b.Reshape(y, rows, chosen, cols))
	weighted := t.keep(b.Multiply(y, t.keep(b.Reshape(scores, rows, chosen, 1))))
	return &array{h: b.SumAxis(weighted, 1, false), rows: int(rows), cols: int(cols)}
}

// expert is the product with each choice's own weight.
func (b *Backend) expert(x capi.Handle, bw backend.Weight, which capi.Handle, sorted bool) capi.Handle {
	w := bw.(*weight)
	if w.words == capi.None {
		return b.GatherMM(x, w.turned, which, sorted)
	}
	return b.GatherQMM(x, w.words, w.scales, w.biases, which, w.group, w.bits, sorted)
}

// temporaries are handles to give up together.
type temporaries struct {
	b   *Backend
	all []capi.Handle
}

func (t *temporaries) keep(h capi.Handle) capi.Handle {
	t.all = append(t.all, h)
	return h
}

func (t *temporaries) free() {
	for _, h := range t.all {
		t.b.Library.Free(h)
	}
}
