package mlx

import (
	"runtime"

	"tokwatt/mlx/internal/host"
)

// maxThreads bounds the cores that a stream uses. The client that stamps the
// tokens runs beside it, and the matrices of the models meant for it keep no
// more than these busy.
const maxThreads = 4

// A Stream runs operations, one after the other, and owns the arrays that they
// return: each is valid until the Scope in which it was made ends. A Stream is
// for one goroutine.
type Stream struct {
	cpu  *host.CPU
	made []*Array            // valid temporaries, oldest first
	free map[int][][]float32 // memory of past ones, by length
}

// NewStream makes a stream on the cores that the process may use, up to four.
func NewStream() *Stream {
	return &Stream{
		cpu:  host.NewCPU(min(runtime.GOMAXPROCS(0), maxThreads)),
		free: map[int][][]float32{},
	}
}

// Scope runs f and frees the arrays made meanwhile, but its result.
func (s *Stream) Scope(f func() *Array) *Array {
	mark := len(s.made)
	result := f()
	kept := s.made[:mark]
	for _, a := range s.made[mark:] {
		if a == result {
			kept = append(kept, a)
			continue
		}
		s.recycle(a)
	}
	s.made = kept
	return result
}

// Clear gives freed memory back, as mlx_clear_cache does. Without it a stream
// keeps what each shape of input once needed.
func (s *Stream) Clear() { clear(s.free) }

// array is a temporary whose elements are not set.
func (s *Stream) array(rows, cols int) *Array {
	n := rows * cols
	a := &Array{rows: rows, cols: cols}
	if old := s.free[n]; len(old) > 0 {
		a.data = old[len(old)-1]
		s.free[n] = old[:len(old)-1]
	} else {
		a.data = make([]float32, n)
	}
	s.made = append(s.made, a)
	return a
}

// Free frees a temporary before its scope ends.
func (s *Stream) Free(a *Array) {
	for i := len(s.made) - 1; i >= 0; i-- {
		if s.made[i] == a {
			s.made = append(s.made[:i], s.made[i+1:]...)
			s.recycle(a)
			return
		}
	}
	panic("mlx: free of an array that is not a temporary of the stream")
}

// recycle takes the array's memory, so that a use after this is found at once.
func (s *Stream) recycle(a *Array) {
	s.free[len(a.data)] = append(s.free[len(a.data)], a.data)
	a.data = nil
}

// Kept is the freed memory that the stream holds on to, in bytes.
func (s *Stream) Kept() int64 {
	var n int64
	for length, arrays := range s.free {
		n += 4 * int64(length) * int64(len(arrays))
	}
	return n
}

// Threads is the number of cores that operations may use.
func (s *Stream) Threads() int { return s.cpu.Threads() }
