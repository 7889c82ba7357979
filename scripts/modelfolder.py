"""An MLX model folder, as mlx_lm reads it: what the makers of folders share."""

import json
from pathlib import Path

import mlx.core as mx


def llama_config(*, hidden, layers, ffn, heads, kv_heads, head_dim, vocab, eps, theta, context, bos, eos, tied):
    """The config.json of a llama with rotary halves (not interleaved) and no biases."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "intermediate_size": ffn,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "vocab_size": vocab,
        "rms_norm_eps": eps,
        "rope_theta": theta,
        "rope_scaling": None,
        "rope_traditional": False,
        "max_position_embeddings": context,
        "attention_bias": False,
        "mlp_bias": False,
        "hidden_act": "silu",
        "tie_word_embeddings": tied,
        "bos_token_id": bos,
        "eos_token_id": eos,
        "torch_dtype": "float32",
    }


def byte_level_tokenizer(tokens, merges, special, *, digits_alone=False):
    """The tokenizer.json of a byte-level BPE.

    tokens: the vocabulary in order of id; merges: "left right", by rank;
    special: ids that text never makes; digits_alone: split digits one by one
    before anything else.
    """
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    before = [byte_level]
    if digits_alone:
        before.insert(0, {"type": "Split", "pattern": {"Regex": r"\p{N}"}, "behavior": "Isolated", "invert": False})
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True}
            for i in special
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": before},
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
            "merges": [m.split(" ") for m in merges],
        },
    }


def write(folder, *, weights, config, tokenizer, tokens, template):
    """Write the folder; tokens are the names of bos, eos and pad."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    documents = {
        "config.json": config,
        "generation_config.json": {k: config[k] for k in ("bos_token_id", "eos_token_id")},
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "add_prefix_space": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": config["max_position_embeddings"],
            "chat_template": template,
            **{f"{role}_token": name for role, name in tokens.items()},
        },
    }
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
