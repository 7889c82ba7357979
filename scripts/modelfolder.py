"""An MLX model folder, as mlx_lm reads it: what the makers of folders share."""

import json

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


def write_model(folder, weights, config):
    """Weights and configuration, without a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", {k: config[k] for k in ("bos_token_id", "eos_token_id")})


def write_json(path, document):
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
