// Package model has the model architectures, written once over package mlx,
// and what they are made from.
//
//  1. A [Config] says what a model is: parsed from a folder's config.json
//     (config.go, rope.go, quantization.go), or taken from the table of
//     synthetic shapes (synthetic.go). [Config.Tensors] lists its tensors with
//     their shapes (tensors.go); loading, checking and making weights all
//     follow that one list.
//  2. Weights come from safetensors files (safetensors.go, folder.go), whose
//     headers are checked before anything is loaded, or, for synthetic models,
//     from a seed.
//  3. Both make a [Model] on a stream (load.go, model.go); [Model.Forward] and
//     [Model.Newest] take tokens through it against a [Cache].
//  4. Text is bytes: the byte tokenizer and its one-line chat template
//     (tokenizer.go) are made in code. A tokenizer.json is not read here, so a
//     folder answers to text only where tokwatt wrote it; any folder answers to
//     token ids.
//
// The architectures are llama, which mistral is too, qwen2, qwen3 and qwen3_moe, with
// weights as floats or in MLX's affine quantization to 4 or 8 bits, each as its
// folder says. What is not covered is refused by name: another architecture
// ([UnknownTypeError]), other quantizations, rope scalings beyond default, linear
// and llama3, sliding windows.
package model
