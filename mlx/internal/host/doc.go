// Package host computes in main memory, in plain Go over gonum's blas32. It is
// the arithmetic under package mlx, and knows neither arrays nor models: every
// operation takes slices and sizes, and writes to a slice that the caller
// gives.
//
//   - Matrices are float32, row-major, without gaps. A caller's wrong size is a
//     programming error and panics, as in gonum.
//   - Each element of a product is one dot product over the whole inner
//     dimension. So a result does not depend on how many rows are computed
//     together, how they are cut into tiles, or how many threads there are:
//     a batch gives bit for bit what its rows give alone.
//   - Work is cut into tiles (matmul.go, attention.go), which the threads of a
//     [CPU] take one after the other. Work too small to gain from a second
//     thread stays on the caller's.
//
// The tiles are sized so that gonum computes each on the calling goroutine;
// its own threading would cut the inner dimension, and costs a third of the
// speed at the sizes of a language model.
package host
