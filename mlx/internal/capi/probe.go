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

func cause(err error) error {
	if err == nil {
		return errors.New("it computes something else")
	}
	return err
}
