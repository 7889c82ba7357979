// Package mlx is arrays and the operations that language models need, under
// the names that MLX gives them. Models are written once against it (package
// mlx/model); today its arithmetic is mlx/internal/host, plain Go in main
// memory.
//
//   - An [Array] is a float32 matrix. Rows of activations are tokens: the
//     streams of a batch one after the other, each with its tokens in order.
//   - A [Stream] runs operations and owns the arrays that they return.
//     [Stream.Scope] frees those that are not its result, so the memory that a
//     long prompt takes is that of one layer.
//   - A [KVCache] holds one layer's keys and values, a [RoPE] the angles of the
//     rotary embedding.
//
// Operations check shapes and panic where they don't fit, as gonum does:
// package model checks every shape of a file before it comes here, so a
// mismatch is a fault in the code.
//
// No operation hands out memory but [Array.Row] and [Stream.Argmax], which
// make results readable. So a library that computes lazily, on another device,
// can stand behind the same operations; what an interface between the two
// would be is left open until there are two.
package mlx
