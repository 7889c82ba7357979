package model

import (
	"fmt"

	"tokwatt/mlx"
)

// Parameters is the number of weights of the model, as its card counts them.
func (c Config) Parameters() int64 {
	var n int64
	for _, p := range c.parts() {
		n += int64(TensorSpec{Shape: p.shape}.elements())
		if p.bias {
			n += int64(p.shape[0])
		}
	}
	return n
}

// WeightBytes is the memory that the weights take.
func (c Config) WeightBytes() int64 {
	var n int64
	for _, t := range c.Tensors() {
		n += t.bytes(c.DType.Size())
	}
	return n
}

// KVBytes is the memory that the keys and values of one token take.
func (c Config) KVBytes() int64 {
	return 2 * int64(c.DType.Size()) * int64(c.Layers) * int64(c.KVHeads) * int64(c.HeadDim)
}

// HeldBy is the model as whoever computes holds it: in main memory all floats
// are float32.
func (c Config) HeldBy(i mlx.Info) Config {
	if !i.KeepsTypes {
		c.DType = mlx.F32
	}
	return c
}

// MemoryError says that something does not fit into memory.
type MemoryError struct {
	What       string
	Need, Have int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs %.1f GiB of memory, and %.1f GiB are available: take a smaller one", e.What,
		float64(e.Need)/(1<<30), float64(e.Have)/(1<<30))
}

// CheckMemory fails with a *MemoryError if what needs more memory than the
// machine has to give now. A machine that does not say is believed to have it.
func CheckMemory(what string, need int64) error {
	if have := availableMemory(); have > 0 && need > have {
		return &MemoryError{What: what, Need: need, Have: have}
	}
	return nil
}
