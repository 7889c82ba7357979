// Package serve is exo's bench endpoint over the engine of this process, and
// what OpenAI clients need beside it.
//
//		request ──▶ parse (request.go, fields.go) ──▶ prompt (prompt.go)
//		        ──▶ queue (queue.go): those alike become one batch, others wait
//		        ──▶ engine's worker (runner.go) ──▶ events of a call (call.go)
//		        ──▶ whole answer or event stream (chat.go, answer.go)
//		        ──▶ a line of the log (log.go)
//
//	  - [New] loads the model, [Server.Serve] listens until its context ends, and
//	    then every request that still runs is told so (server.go).
//	  - Routes, errors and the bearer token: routes.go, faults.go. The shapes,
//	    the order of keys and the statuses are those of exo 0.3.70.
//	  - What exo's clients look for around a request, an instance that is placed
//	    and becomes ready, its node, its download: cluster.go, card.go, state.go.
//	  - Power comes from a [Meter] that the caller has; without one there are no
//	    nodes in power_usage, and no figures (power.go).
//
// # What is not exo's
//
//   - There is one model, and it is loaded at the start. Instances are handles
//     on it: the last one's end frees its memory, the next one loads it anew. A
//     request to /v1/chat/completions makes one where there is none.
//   - A request that is not a stream ends when its client goes.
//   - Requests are queued, at most [MaxWaiting] of them; then the answer is 503.
//   - The cache has what the last request left that asked for it with
//     use_prefix_cache and ran alone; at /v1/chat/completions, too, nothing is
//     reused unless it is asked for.
//   - The likeliest token is taken whatever temperature is sent.
//   - Without max_tokens the bench endpoint refuses, where exo makes 32,168.
//   - prompt_tps is by the engine's rule: the prompt tokens that the cache did not
//     have over the time to the first token.
package serve
