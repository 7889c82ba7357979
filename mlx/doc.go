// Package mlx is arrays and the operations that language models need, under
// the names that MLX gives them. Models are written once against it (package
// mlx/model).
//
//   - A [Stream] runs operations. [NewStream] computes in plain Go in main
//     memory (mlx/internal/host); [Open] computes with MLX, on a Mac's GPU
//     (mlx/internal/lazy over mlx/internal/capi). What both must do says
//     mlx/internal/backend.
//   - An [Array] is a matrix of floats. Rows of activations are tokens: the
//     streams of a batch one after the other, each with its tokens in order.
//     [Stream.Scope] frees those that are not its result, so the memory that a
//     long prompt takes is that of one layer.
//   - A [Weight] is the matrix of a layer, plain or quantized. A [KVCache] holds
//     one layer's keys and values, a [RoPE] the angles of the rotary embedding.
//   - [Tokens] are ids, which MLX may not have computed yet: a step of
//     generation can begin with the tokens of the one before it, before they
//     are read.
//
// Operations check shapes and panic where they don't fit, as gonum does:
// package model checks every shape of a file before it comes here, so a
// mismatch is a fault in the code. What a library refuses all the same is the
// error of the next [Stream.Read], [Stream.ReadTokens] or [Stream.Settle].
package mlx
