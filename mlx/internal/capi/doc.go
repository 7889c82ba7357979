// Package capi calls libmlxc, the C interface of MLX, without cgo.
//
//   - [Open] finds the library (find.go), looks up all functions at once
//     (functions.go), finds out which form some of them have (probe.go), and
//     checks the arithmetic on small products whose results are known
//     (selfcheck.go). What is wrong is an error then, before any number is made.
//   - A [Library] has one operating system thread for life (thread.go): MLX
//     keeps streams by thread. All calls are made inside [Library.Do].
//   - Methods have the names of the C functions, without mlx_ (arrays.go, ops.go,
//     packed.go, memory.go). They build a graph; [Library.Eval] and
//     [Library.AsyncEval] compute it.
//   - The first failure is kept, and [Library.Err] tells it: until then every
//     operation gives [None], which the next take as an error of theirs. So a
//     whole graph can be built and asked about once (call.go).
//   - Who calls owns the handles. [Library.Live] counts them, for tests.
//
// No path and no text of a user ever reaches the library, since mlx-c takes
// messages for formats and crashes at a %.
//
// The binding is in builds for macOS, and in those for Linux that depend on the
// C library anyway, because they are built with cgo; a build for Linux without
// cgo stays static unless it has the tag mlx.
package capi
