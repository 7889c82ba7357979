// Package backend is what package mlx asks of whoever computes: plain Go in
// main memory (mlx/internal/host), which computes at once, or MLX
// (mlx/internal/lazy), which builds a graph and computes it when asked to, on
// another device.
//
// It was drawn from what the two have in common:
//
//   - Nobody sees the elements of an [Array] but by Read, nor token ids but by
//     ReadTokens: until then they may not be known.
//   - An array is a matrix, whatever its shape in the backend's own memory is:
//     MLX keeps heads apart between the rotary embedding and attention.
//   - Operations are as large as the larger of the two has them: attention with
//     its cache is one, and so is a product with quantized weights.
//   - Package mlx has checked all shapes. So operations return no errors; those
//     that a library has all the same come with the next Read.
package backend

// Array is a matrix of floats. Rows of activations are tokens.
type Array interface {
	Rows() int
	Cols() int
}

// Weight is the matrix of a linear layer or an embedding, one row per output,
// as floats or quantized.
type Weight interface {
	Outputs() int
	Inputs() int
}

// Tokens are ids of tokens with the score of each.
type Tokens interface {
	Len() int
}

// Rope is a rotary position embedding.
type Rope interface {
	Dims() int // of a head that are turned
}

// Cache holds the keys and values of one layer for the streams of a batch.
type Cache interface {
	// Append takes in the keys and values of the next tokens of every stream.
	Append(k, v Array)
	// Keep drops all streams but the given ones, in ascending order.
	Keep(streams []int)
	// Trim drops all but the first n tokens of every stream.
	Trim(n int)
	// Grow makes room for capacity tokens of each stream.
	Grow(capacity int)
	Free()
}

// Quantized is a matrix of weights in groups: 32-bit words with the lowest
// weight of a word in its lowest bits, and for each group a scale and a bias. A
// weight is scale · bits + bias.
type Quantized struct {
	Words           []byte // little-endian
	Scales, Biases  []byte // of type Type
	Type            DType
	Outputs, Inputs int
	Group, Bits     int
}

// Mixture is a layer of experts, of which the router chooses some for each row:
// those of the largest scores.
type Mixture struct {
	Router         Array  // scores, before softmax: a column for each expert
	Gate, Up, Down Weight // stacks
	Chosen         int    // experts a row
	Normalize      bool   // the weights of those chosen are made to sum to 1
}

// Backend computes. It is for one goroutine, inside Do.
type Backend interface {
	Info() Info
	// Do runs f where calls are allowed, and waits for it.
	Do(f func())

	// Array is a matrix of raw elements.
	Array(t DType, raw []byte, rows, cols int) Array
	Dense(a Array) Weight
	Quantized(q Quantized) Weight
	// Stack makes experts of a weight whose rows are those of n, one after the
	// other. Only Mixture takes it.
	Stack(w Weight, n int) Weight
	// Rope turns pairs by freqs radians a position: (i, i + len(freqs)), or
	// (2i, 2i + 1) where interleaved.
	Rope(freqs []float64, interleaved bool) Rope
	Cache(streams, heads, dim, capacity int) Cache
	Tokens(ids []int32) Tokens

	// Take is the rows ids of a weight.
	Take(w Weight, ids Tokens) Array
	// Rows is the rows at of x.
	Rows(x Array, at []int32) Array
	// Linear is x·wᵀ + bias; bias may be nil.
	Linear(x Array, w Weight, bias Array) Array
	Add(a, b Array) Array
	// AddRow adds row to each row of a, in a's type.
	AddRow(a, row Array) Array
	// RMSNorm is v / √(mean(v²) + eps) · w for each run v of a row that is as
	// long as w.
	RMSNorm(x, w Array, eps float32) Array
	// SwiGLU is gate · sigmoid(gate) · up.
	SwiGLU(gate, up Array) Array
	// Mixture is a mixture of experts.
	Mixture(x Array, m Mixture) Array
	// Turn applies a rope to x, which has seq rows for each stream, at the
	// positions from offset on.
	Turn(x Array, r Rope, heads, seq, offset int) Array
	// Attention is causal: q has the newest tokens of each stream.
	Attention(q Array, c Cache, heads int) Array
	// Argmax is the largest element of each row, of equals the first.
	Argmax(x Array) Tokens
	// Pick is some of tokens.
	Pick(t Tokens, at []int) Tokens

	// Start begins to compute tokens, where that goes on beside the caller.
	Start(t Tokens)
	// ReadTokens waits for tokens.
	ReadTokens(t Tokens) (ids []int32, scores []float32, err error)
	// Read waits for an array and copies it, row by row.
	Read(a Array) ([]float32, error)
	// Settle waits until the caches hold what was appended to them, and for all
	// that was started.
	Settle(caches []Cache) error
	// Free gives up an array; what is computed from it stays valid.
	Free(a Array)
	FreeTokens(t Tokens)
	// Clear gives freed memory back to the system.
	Clear()
	// Kept is the freed memory that is kept for reuse, in bytes.
	Kept() int64
	// Live is the number of arrays of all kinds that were made and not given up.
	Live() int
	// Active is the memory that arrays take, in bytes, or nil where it is not
	// counted.
	Active() *int64
	// Peak is the most memory that arrays took since ResetPeak, in bytes, or nil
	// where it is not counted.
	Peak() *int64
	ResetPeak()
}

// Info is what is known of a backend.
type Info struct {
	Name         string `json:"name,omitempty"`              // "host" or "mlx"
	Version      string `json:"version,omitempty"`           // MLX's; empty for host
	Library      string `json:"library,omitempty"`           // path of libmlxc; empty for host
	LibrarySHA   string `json:"library_sha256,omitempty"`    // SHA-256 of that file, in hex; empty if unknown
	ForceFused   bool   `json:"force_fused,omitempty"`       // libmlxc has attention in the form of MLX 0.32.2
	Device       string `json:"device,omitempty"`            // "cpu" or "gpu"
	DeviceName   string `json:"device_name,omitempty"`       // may be empty
	Architecture string `json:"architecture,omitempty"`      // may be empty
	Memory       uint64 `json:"memory_bytes,omitempty"`      // bytes of the device; 0 where it does not say
	WorkingSet   uint64 `json:"working_set_bytes,omitempty"` // bytes that the device should use at most; 0 where it does not say
	Threads      int    `json:"threads,omitempty"`           // cores that operations may use; 0 where it is not known
	Lazy         bool   `json:"lazy,omitempty"`              // computes beside the caller, so that a step can begin before the one before it is read
	KeepsTypes   bool   `json:"keeps_types,omitempty"`       // computes in the type of the weights, not all in float32
}
