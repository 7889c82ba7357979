// Package ollama drives Ollama by its native API: POST /api/generate with
// answers as NDJSON, one JSON object a line. Its last object carries counts and
// durations of the server's own, which the OpenAI-compatible API leaves out.
//
// The way of a request, and where each step lives:
//
//  1. [Driver.Targets] finds the address (address.go) and the models
//     (driver.go). Names are compared as Ollama resolves them (name.go).
//  2. Describe asks who the server is and what the model is, and changes
//     nothing (api.go, target.go).
//  3. Open loads the model with one context window for the whole matrix
//     (window.go). A request with another num_ctx would load it again, so all
//     requests carry the same one (engine.go).
//  4. Engine.Open encodes the whole request and dials; nothing but one write
//     is left to do after the barrier.
//  5. The stream writes it at the first pull and reads the answer on the same
//     goroutine (stream.go): lines become objects (line.go), objects become
//     arrivals (answer.go), and what the server says of itself the report
//     (report.go).
//
// What to know about the server:
//
//   - It cuts a prompt that does not fit into num_ctx, silently. Its count of
//     the prompt is then smaller than what was sent.
//   - It keeps the newest prompts in a prefix cache and has no switch to turn
//     that off: cold prompts need a front of their own. Of a prompt that it had
//     cached whole, older versions tell no prompt_eval_count; newer ones count
//     it and tell prompt_eval_cached_count.
//   - num_predict is a limit. Nothing makes it go on behind an end token.
//   - eval_count / eval_duration is n / span; it states no rate itself.
//   - total_duration holds load_duration, which is some milliseconds even where
//     the model was loaded.
//   - A model with a remote_host runs elsewhere, and so does its energy.
//   - How many requests it runs at once (OLLAMA_NUM_PARALLEL) can't be seen
//     from outside.
package ollama
