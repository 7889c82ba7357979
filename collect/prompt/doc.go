// Package prompt makes prompts of an exact length in tokens.
//
// A prompt is an atom, " a" unless the user says otherwise, repeated until the
// engine counts the wanted number of tokens, its chat template included. The
// package owns no tokenizer: it asks a count function, which is the engine's
// own tokenizer in process and a request of one token over HTTP. So the
// search must be frugal: it fits a line through two short prompts, guesses,
// and verifies, correcting the guess when the line was not straight
// (calibrate.go).
//
// Where nothing else keeps a server from reusing an earlier request's prefix,
// every prompt begins with words of its own (nonce.go).
package prompt
