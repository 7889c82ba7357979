// Package prompt makes prompts of an exact length in tokens.
//
// A prompt is an atom, " a" unless the user says otherwise, repeated until the
// wanted number of tokens is reached, the chat template included. There are two
// ways to know that number, both a collect.Prompter over one search (search.go):
//
//   - Exact (exact.go) counts with the model's own tokenizer and chat template,
//     which Open reads from its files (model.go). It is compared once with the
//     engine's count, where there is one.
//   - Sizer (calibrate.go) asks a count function: the engine's own tokenizer in
//     process, a request of one token over HTTP. It serves where a model's files
//     are not at hand, or can't be counted exactly: an *InexactError of Open.
//
// Tries (atoms.go) is over either: it makes a length that one atom leaps over
// of another.
//
// Where nothing else keeps a server from reusing an earlier request's prefix,
// every prompt begins with words of its own (nonce.go), in the system message
// where the template has one. Exact takes words that cost one length each
// (openings.go); Sizer believes that they do.
//
// The parts that know file formats are packages of their own: tokenizer,
// template, source.
package prompt
