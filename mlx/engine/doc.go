// Package engine runs a model in a process of its own and streams what it
// generates.
//
//	parent                                worker (the same binary, re-executed)
//	Start ── first line: load ─────────▶  RunIfWorker
//	      ◀── line: loaded ────────────
//	Send  ── a line a request ─────────▶  gathered into one batch, if released
//	                                      together (serve.go)
//	Stdout ◀── a line a token ──────────  prefill, then greedy decode (generate.go, emit.go)
//	       ◀── line: done, with Stats ──
//	Close ── end of input ─────────────▶  exit
//
// A process of its own, so that its garbage collection, its crash or its end
// for want of memory is that of its requests and of nothing else: the parent
// reads why in [Worker.Wait] and starts another.
//
//   - main and TestMain call [RunIfWorker] first; in a worker it never returns.
//   - The parent hands out the worker's lines as they come ([Worker.Stdout]), so
//     that whoever measures stamps them by its own clock. [StreamOf] tells
//     cheaply whose a line is, [Decode] what it says (frames.go).
//   - Requests released together run as one batch [N, L]: prompts of one length,
//     nothing padded. Those of other lengths wait their turn.
//   - Every request starts with an empty cache, unless it asks for what the one
//     before it left (prefix.go). A ban of the end of sequence is
//     a bias of −∞ on its tokens.
//   - [Inspect] says what a model is before it is loaded, [Probe] whether there is
//     an MLX to compute with.
package engine
