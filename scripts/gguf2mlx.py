#!/usr/bin/env python3
"""Convert a llama in a GGUF file to an MLX model folder.

    gguf2mlx.py MODEL.gguf FOLDER

MLX reads GGUF's Q4_0, Q4_1 and Q8_0 as its own affine quantization with groups
of 32 weights, without loss: a weight is scale * q + bias. Three things remain.

 1. Names: blk.0.attn_q becomes model.layers.0.self_attn.q_proj, and so on.
 2. Rotary order: GGUF stores the rows of the query and key projections of each
    head with the two halves interleaved; mlx_lm's llama takes half after half.
 3. Scales and biases become float32. On a CPU, MLX multiplies 4-bit weights
    with half precision scales some 45 times slower.

Config, tokenizer and chat template come from the file's metadata.
"""

import argparse
import sys
from pathlib import Path

import mlx.core as mx

import modelfolder

GROUP = 32  # weights a block, in every quantization that GGUF and MLX share

LAYER_PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
MODEL_PARTS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}

CONTROL = 3  # in tokenizer.ggml.token_type: a token that text never makes


def mlx_name(name):
    """blk.3.attn_q.scales -> model.layers.3.self_attn.q_proj.scales"""
    part, leaf = name.rsplit(".", 1)
    if part in MODEL_PARTS:
        return f"{MODEL_PARTS[part]}.{leaf}"
    block, layer, part = part.split(".")
    if block != "blk" or part not in LAYER_PARTS:
        raise ValueError(f"the tensor {name} has no place in a llama")
    return f"model.layers.{layer}.{LAYER_PARTS[part]}.{leaf}"


def halves_apart(rows, heads):
    """Undo the interleaving of each head's rows: [h, d/2, 2] to [h, 2, d/2]."""
    n, columns = rows.shape
    return rows.reshape(heads, n // heads // 2, 2, columns).swapaxes(1, 2).reshape(n, columns)


def convert_weights(tensors, heads, kv_heads):
    weights = {}
    for name, a in tensors.items():
        to = mlx_name(name)
        if ".attn_q." in name:
            a = halves_apart(a, heads)
        elif ".attn_k." in name:
            a = halves_apart(a, kv_heads)
        weights[to] = a if a.dtype == mx.uint32 else a.astype(mx.float32)
    return weights


def quantization(weights):
    """The bits of each quantized part: the most frequent as the default."""
    bits = {}
    for name, scales in weights.items():
        if name.endswith(".scales"):
            part = name.removesuffix(".scales")
            words = weights[part + ".weight"].shape[1]
            bits[part] = words * 32 // (scales.shape[1] * GROUP)
    if not bits:
        return None
    form = lambda b: {"group_size": GROUP, "bits": b, "mode": "affine"}
    default = max(set(bits.values()), key=list(bits.values()).count)
    return {**form(default), **{part: form(b) for part, b in bits.items() if b != default}}


def tokenizer(meta):
    """The tokenizer.json of the "smollm" kind: digits one by one, then byte-level BPE."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = {"type": "Split", "pattern": {"Regex": r"\p{N}"}, "behavior": "Isolated", "invert": False}
    tokens = meta["tokenizer.ggml.tokens"]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True}
            for i, kind in enumerate(meta["tokenizer.ggml.token_type"]) if kind == CONTROL
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {t: i for i, t in enumerate(tokens)},
            "merges": [m.split(" ") for m in meta["tokenizer.ggml.merges"]],
        },
    }


def tokenizer_config(meta, ids):
    tokens = meta["tokenizer.ggml.tokens"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": meta["llama.context_length"],
        "chat_template": meta["tokenizer.chat_template"],
        **{f"{role}_token": tokens[i] for role, i in ids.items()},
    }


def read(path):
    """The tensors and the metadata of a GGUF file, scalars as Python values."""
    tensors, meta = mx.load(path, format="gguf", return_metadata=True)
    plain = lambda v: v.tolist() if isinstance(v, mx.array) else v
    return tensors, {k: plain(v) for k, v in meta.items()}


def convert(path, folder):
    tensors, meta = read(path)
    if meta["general.architecture"] != "llama":
        raise ValueError(f"{path} holds a {meta['general.architecture']}, and only a llama can be converted")
    if (pre := meta.get("tokenizer.ggml.pre")) != "smollm":
        raise ValueError(f"{path} splits text the {pre!r} way, and only 'smollm' is known here")

    of = lambda key: meta["llama." + key]
    heads, kv_heads = of("attention.head_count"), of("attention.head_count_kv")
    weights = convert_weights(tensors, heads, kv_heads)
    ids = {role: meta[f"tokenizer.ggml.{key}_token_id"] for role, key in
           {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}.items()}
    config = modelfolder.llama_config(
        hidden=of("embedding_length"), layers=of("block_count"), ffn=of("feed_forward_length"),
        heads=heads, kv_heads=kv_heads, head_dim=of("rope.dimension_count"), vocab=len(meta["tokenizer.ggml.tokens"]),
        eps=of("attention.layer_norm_rms_epsilon"), theta=of("rope.freq_base"), context=of("context_length"),
        bos=ids["bos"], eos=ids["eos"], tied="lm_head.weight" not in weights)
    if q := quantization(weights):
        config["quantization"] = config["quantization_config"] = q

    modelfolder.write_model(folder, weights, config)
    modelfolder.write_json(folder / "tokenizer.json", tokenizer(meta))
    modelfolder.write_json(folder / "tokenizer_config.json", tokenizer_config(meta, ids))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("gguf")
    p.add_argument("folder", type=Path)
    a = p.parse_args()
    try:
        convert(a.gguf, a.folder)
    except ValueError as e:
        sys.exit(f"gguf2mlx: {e}")


if __name__ == "__main__":
    main()
