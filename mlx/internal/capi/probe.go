//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// floats is an array of float32.
func (l *Library) floats(values []float32, shape ...int32) Handle {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return l.NewData(raw, Float32, shape...)
}

// probe finds out which form functions have whose arguments changed without a
// change of name. It calls the newest form first, with zeros for what is new:
// an older function takes one of the zeros for the stream and refuses it.
func (l *Library) probe() error {
	if err := l.probeAttention(); err != nil {
		return err
	}
	return l.probeGather()
}

func (l *Library) probeAttention() error {
	x := l.floats([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 1, 1, 1, 8)
	defer l.Free(x)
	for _, l.force = range []bool{true, false} {
		y := l.ScaledDotProductAttention(x, x, x, 1, false)
		got := l.Floats(y)
		l.Free(y)
		err := l.Err()
		if err == nil && len(got) == 8 && got[7] == 8 {
			l.info.ForceFused = l.force
			return nil
		}
		if !l.force {
			return fmt.Errorf("no known form of its attention works: tokwatt is older than the library, or the library is damaged: %w", cause(err))
		}
	}
	return nil
}

// probeGather calls with sorted false: where a newer function has its
// global_scale, that is null.
func (l *Library) probeGather() error {
	w := l.floats(ramp(2*32), 2, 32)
	words, scales, biases := l.Quantize(w, 32, 8)
	x, which := l.floats(ramp(32), 1, 1, 32), l.NewData([]byte{1, 0, 0, 0}, Uint32, 1)
	stack := []Handle{l.Reshape(words, 2, 1, 8), l.Reshape(scales, 2, 1, 1), l.Reshape(biases, 2, 1, 1)}
	defer func() {
		for _, a := range append(stack, w, words, scales, biases, x, which) {
			l.Free(a)
		}
	}()
	want := 0.0
	for i := range 32 {
		want += float64(i) * float64(32+i)
	}
	for _, l.scaled = range []bool{true, false} {
		y := l.GatherQMM(x, stack[0], stack[1], stack[2], which, 32, 8, false)
		got := l.Floats(y)
		l.Free(y)
		err := l.Err()
		if err == nil && len(got) == 1 && math.Abs(float64(got[0])-want) < 0.01*want {
			return nil
		}
		if !l.scaled {
			return fmt.Errorf("no known form of its mlx_gather_qmm works: tokwatt is older than the library, or the library is damaged: %w", cause(err))
		}
	}
	return nil
}

// ramp is 0, 1, 2, …
func ramp(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i)
	}
	return out
}

func cause(err error) error {
	if err == nil {
		return errors.New("it computes something else")
	}
	return err
}
