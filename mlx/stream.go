package mlx

import (
	"runtime"

	"tokwatt/mlx/internal/backend"
	"tokwatt/mlx/internal/host"
	"tokwatt/mlx/internal/lazy"
)

// maxThreads bounds the cores that a stream in main memory uses. The client
// that stamps the tokens runs beside it, and the matrices of the models meant
// for it keep no more than these busy.
const maxThreads = 4

// A Stream runs operations, one after the other, and owns the arrays that they
// return: each is valid until the Scope in which it was made ends. A Stream is
// for one goroutine, and for the functions that Do runs.
type Stream struct {
	b    backend.Backend
	made []Array // valid temporaries, oldest first
}

// NewStream makes a stream in main memory, on the cores that the process may
// use, up to four.
func NewStream() *Stream {
	return &Stream{b: host.NewBackend(min(runtime.GOMAXPROCS(0), maxThreads))}
}

// ErrBuild is Open's error in a program that was built without MLX.
var ErrBuild = lazy.ErrBuild

// Open makes a stream on MLX: its library named, or if that is empty the one
// that TOKWATT_MLX_LIB names, or the first that is found where libraries are.
// The error says what was tried, or what is wrong with the library.
func Open(library string) (*Stream, error) {
	b, err := lazy.Open(library)
	if err != nil {
		return nil, err
	}
	return &Stream{b: b}, nil
}

// Info is what is known of whoever computes.
func (s *Stream) Info() Info { return s.b.Info() }

// Do runs f where all other methods are allowed, and waits for it: MLX wants
// one operating system thread for all. f must return.
func (s *Stream) Do(f func()) { s.b.Do(f) }

// Scope runs f and frees the arrays made meanwhile, but its result.
func (s *Stream) Scope(f func() Array) Array {
	mark := len(s.made)
	result := f()
	kept := s.made[:mark]
	for _, a := range s.made[mark:] {
		if a == result {
			kept = append(kept, a)
			continue
		}
		s.b.Free(a)
	}
	clear(s.made[len(kept):])
	s.made = kept
	return result
}

// own makes an array a temporary of the scope.
func (s *Stream) own(a Array) Array {
	s.made = append(s.made, a)
	return a
}

// Free frees a temporary before its scope ends.
func (s *Stream) Free(a Array) {
	for i := len(s.made) - 1; i >= 0; i-- {
		if s.made[i] == a {
			s.made = append(s.made[:i], s.made[i+1:]...)
			s.b.Free(a)
			return
		}
	}
	panic("mlx: free of an array that is not a temporary of the stream")
}

// Temporaries is the number of arrays that scopes will free.
func (s *Stream) Temporaries() int { return len(s.made) }

// FreeTokens frees what Tokens, Argmax or Pick returned.
func (s *Stream) FreeTokens(t Tokens) { s.b.FreeTokens(t) }

// Start begins to compute tokens, if that can go on beside the caller.
func (s *Stream) Start(t Tokens) { s.b.Start(t) }

// ReadTokens waits for tokens. Those from Argmax have scores.
func (s *Stream) ReadTokens(t Tokens) (ids []int32, scores []float32, err error) {
	return s.b.ReadTokens(t)
}

// Read waits for an array and copies it, row by row.
func (s *Stream) Read(a Array) ([]float32, error) { return s.b.Read(a) }

// Settle waits until the caches hold what was appended, and for all that was
// started before.
func (s *Stream) Settle(caches ...*KVCache) error {
	all := make([]backend.Cache, len(caches))
	for i, c := range caches {
		all[i] = c.c
	}
	return s.b.Settle(all)
}

// Clear gives freed memory back. Without it a stream in main memory keeps what
// each shape of input once needed.
func (s *Stream) Clear() { s.b.Clear() }

// Kept is the freed memory that the stream holds on to, in bytes.
func (s *Stream) Kept() int64 { return s.b.Kept() }

// Live is the number of arrays, tokens and caches' parts that were made and not
// freed. A step of generation leaves it as it was.
func (s *Stream) Live() int { return s.b.Live() }

// Active is the memory that arrays take, in bytes; nil where it is not counted.
func (s *Stream) Active() *int64 { return s.b.Active() }

// Peak is the most memory that arrays took since ResetPeak, in bytes; nil where
// it is not counted.
func (s *Stream) Peak() *int64 { return s.b.Peak() }

// ResetPeak starts the count of Peak anew.
func (s *Stream) ResetPeak() { s.b.ResetPeak() }
