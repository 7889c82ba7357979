package model

import "fmt"

// WeightBytes is the memory that the weights take, all of them in float32.
func (c Config) WeightBytes() int64 {
	var n int64
	for _, t := range c.Tensors() {
		n += 4 * int64(t.elements())
	}
	return n
}

// KVBytes is the memory that the keys and values of one token take.
func (c Config) KVBytes() int64 {
	return 2 * 4 * int64(c.Layers) * int64(c.KVHeads) * int64(c.HeadDim)
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
