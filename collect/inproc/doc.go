// Package inproc measures tokwatt's own engine, package mlx/engine, computing in
// plain Go or with MLX: no server, no network, no download.
//
//   - [Driver] yields a target for each model named: "synthetic:SHAPE", whose
//     weights are made in memory, or a model folder (driver.go).
//   - Opening a target starts the engine's worker process and loads the model
//     (target.go). Should the worker die, its requests fail, and the next Open of
//     a stream starts another.
//   - One goroutine reads the worker's lines, stamps them with collect's line
//     reader and hands each to its stream by the number it starts with
//     (session.go); the stream's own goroutine parses it (stream.go).
//
// The worker gathers the requests of a batch and runs them as one [N, L] batch,
// from an empty cache unless the cache of the request before is wanted, greedily, with an exact ban of the end of
// sequence. What it says of itself is a report of source "engine".
package inproc
