// Package model has the model architectures, written once over package mlx,
// and what they are made from.
//
//  1. A [Config] says what a model is: parsed from a folder's config.json
//     (config.go, rope.go), or taken from the table of synthetic shapes
//     (synthetic.go). [Config.Tensors] lists its weights with their shapes;
//     loading, checking and making weights all follow that one list.
//  2. Weights come from safetensors files (safetensors.go, folder.go) or, for
//     synthetic models, from a seed.
//  3. [New] joins both to a [Model] (llama.go); [Model.Forward] and
//     [Model.Newest] take tokens through it against a [Cache].
//  4. Text is bytes: the byte tokenizer and its one-line chat template
//     (tokenizer.go) are made in code. A tokenizer.json is not read here, so a
//     folder answers to text only where tokwatt wrote it; any folder answers to
//     token ids.
//
// What is not covered is refused by name: an architecture other than llama
// ([UnknownTypeError]), quantized weights, rope scalings beyond default, linear
// and llama3, sliding windows.
package model
