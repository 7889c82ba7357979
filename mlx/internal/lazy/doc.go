// Package lazy is package backend's interface over MLX: operations build a
// graph, which MLX computes when something is read, or beside the caller where
// Start says so.
//
//   - An array is a handle and the matrix that it stands for (array.go). Between
//     the rotary embedding and attention its shape is [streams, heads, tokens,
//     dim], as MLX wants it; whoever needs rows gets them back.
//   - A cache is one array of keys and one of values, of the full capacity, into
//     which MLX writes in place, since nobody else holds them (cache.go).
//   - Arrays have the type of the weights, bfloat16 as a rule.
//
// The order of things is that of mlx_lm: a chunk of a prompt computes its
// caches alone, and a step of generation begins before the token of the step
// before it is read.
package lazy

import "errors"

// ErrBuild says that the program was built without MLX.
var ErrBuild = errors.New("this build of tokwatt has no MLX: build it on Linux with cgo, or with -tags mlx")
