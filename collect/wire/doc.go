// Package wire is the ground that the drivers for servers share: HTTP/1.1 with
// one connection a request, and how servers put things into words and JSON.
//
//   - A [Server] is one address and what goes out with every request to it
//     (server.go); control requests are answered whole (control.go).
//   - An [Exchange] is one measured request: dialled and encoded before the
//     barrier, written at the first pull, its arrivals stamped below all
//     buffers (exchange.go), and what is left to say at its end (deliver.go).
//     net/http's Transport is not used for it: it puts goroutines between our
//     stamp and the write.
//   - Keys and the user's own headers go to the origin that the user named,
//     and nowhere else (redirect.go).
//   - What goes wrong becomes a *collect.Failure in one sentence, without the
//     paths of the server's machine (fault.go, words.go).
//   - Texts may be cut inside a character (text.go), and figures may be words
//     (number.go). [FindAll] looks at several addresses at once (find.go).
package wire
