// Package openai drives servers that speak the OpenAI chat API: mlx_lm.server,
// llama.cpp, vLLM and their kin.
//
// The way of a request, and where each step lives:
//
//  1. [Driver.Targets] parses the base URL and finds the models (driver.go,
//     address.go, models.go).
//  2. Describe asks the server who it is with GET requests only; what is known
//     of an engine stands in one table (target.go, recognise.go, dialect.go).
//  3. Open asks for one token, to learn which optional fields the server takes
//     and where it redirects to (probe.go).
//  4. Engine.Open encodes the whole request and dials (engine.go, body.go,
//     package wire); nothing but one write is left to do after the barrier.
//  5. The stream writes it at the first pull and reads the response on the
//     same goroutine (stream.go): lines become events (sse.go), events become
//     arrivals (answer.go, event.go), statistics become the report
//     (report.go, exo.go), failures become one sentence (fault.go).
//
// An engine with a driver of its own that speaks this API uses [Chat].
//
// Whatever a server does costs bounded memory: the head of an answer, a line,
// an event, a statistics object and the number of events all have a limit.
//
// Proxies named in the environment are not used, so that what is measured is
// the server that was named.
package openai
