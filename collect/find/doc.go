// Package find looks for engines that run on this host, and says of an address
// which driver measures what answers there.
//
// Three looks are taken at an address at once, with GET requests only: as exo
// (exo.go), as Ollama (package ollama) and as a server that speaks the OpenAI
// API (package openai, whose table of dialects knows the engines of that
// family). Many servers imitate one another, so the looks are weighed
// (weigh in find.go): exo shows itself as all three, and Ollama as two.
//
// All of it takes under a second, however many ports accept and say nothing.
package find
