// Package script serves answers with a known schedule: what a benchmark
// client should have seen is known to the microsecond, so what it did see can
// be judged.
//
//  1. An [Answer] is the bytes of one response and when each piece goes out
//     (answer.go). Framing, resets and cuts are exact, because the server
//     writes to the socket itself: no HTTP library tidies up behind it.
//  2. Answers are made by hand, from a trouble case (case.go), from a
//     recorded transcript (transcript.go), or as n tokens every so many
//     milliseconds ([Tokens], tokens.go).
//  3. A [Script] says which request gets which answer, and what else the
//     server is picky about (script.go).
//  4. A [Server] plays it (server.go, request.go), each answer on the
//     absolute schedule that begins when the head of its request was there,
//     and keeps a log of when each piece was really sent ([Exchange]).
//
// The schedule is kept by sleeping, never by spinning, so a piece may go out
// late on a busy machine; it never goes out early, and the log says when it
// did: its instants are taken just before the write, which takes some
// microseconds more.
package script
