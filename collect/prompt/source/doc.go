// Package source finds what the length of a model's prompts depends on: its
// tokenizer, its chat template, its special tokens and its end tokens.
//
// Open takes what a user has at hand:
//
//   - a folder, as models are published and as MLX servers load them (folder.go);
//   - a GGUF file, as llama.cpp's servers load them: of its metadata only what is
//     named above is kept, and of the file only the header is read (gguf.go);
//   - a model id, such as org/name, which is looked up in the hub's cache on this
//     machine (cache.go). Nothing is ever downloaded.
//
// Models whose prompts can't be counted exactly from such files are refused by
// name with an *UnsupportedError, so that a caller can say so and measure
// lengths with the engine instead.
package source
