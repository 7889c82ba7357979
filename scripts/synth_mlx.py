#!/usr/bin/env python3
"""Write a small llama with random weights as an MLX model folder.

    synth_mlx.py REAL FOLDER

It serves to measure a real server fast: a few milliseconds a token on one core.
Tokenizer and chat template are those of the folder REAL, so prompts count the
same. Its text is noise, but noise that a bench can rely on:

 - Every token that it generates shows: only words of ASCII letters have an
   output row, so no answer is empty and none hangs in half a UTF-8 character.
   All other logits are exactly 0, under the largest of thousands of random ones.
 - It likes to end: the row of the end token is five times as long as others,
   so an answer stops within a dozen tokens or so unless the end is banned. An
   EOS ban that does not work is seen at once.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

import mlx.core as mx

import modelfolder

HIDDEN, LAYERS, FFN = 128, 4, 352
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 32
WORD = re.compile("Ġ?[A-Za-z]+")


def random_weights(vocabulary, eos):
    """Weights with the variance that keeps activations at about 1."""
    mx.random.seed(0)
    matrix = lambda rows, columns: mx.random.normal((rows, columns)) * columns**-0.5
    weights = {
        "model.embed_tokens.weight": mx.random.normal((len(vocabulary), HIDDEN)),
        "model.norm.weight": mx.ones(HIDDEN),
    }
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        for name, rows, columns in [
            ("self_attn.q_proj", HEADS * HEAD_DIM, HIDDEN),
            ("self_attn.k_proj", KV_HEADS * HEAD_DIM, HIDDEN),
            ("self_attn.v_proj", KV_HEADS * HEAD_DIM, HIDDEN),
            ("self_attn.o_proj", HIDDEN, HEADS * HEAD_DIM),
            ("mlp.gate_proj", FFN, HIDDEN),
            ("mlp.up_proj", FFN, HIDDEN),
            ("mlp.down_proj", HIDDEN, FFN),
        ]:
            weights[f"{layer}.{name}.weight"] = matrix(rows, columns)
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{layer}.{name}.weight"] = mx.ones(HIDDEN)
    length = [1.0 if WORD.fullmatch(token) else 0.0 for token in vocabulary]
    length[eos] = 5.0
    weights["lm_head.weight"] = matrix(len(vocabulary), HIDDEN) * mx.array(length)[:, None]
    return weights


def vocabulary(folder):
    """The tokens of a folder by id, as the tokenizer spells them."""
    model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    return sorted(model["vocab"], key=model["vocab"].get)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("real", type=Path)
    p.add_argument("folder", type=Path)
    a = p.parse_args()
    real = json.loads((a.real / "config.json").read_text(encoding="utf-8"))
    tokens, bos, eos = vocabulary(a.real), real["bos_token_id"], real["eos_token_id"]
    config = modelfolder.llama_config(
        hidden=HIDDEN, layers=LAYERS, ffn=FFN, heads=HEADS, kv_heads=KV_HEADS, head_dim=HEAD_DIM, vocab=len(tokens),
        eps=1e-6, theta=10000.0, context=real["max_position_embeddings"], bos=bos, eos=eos, tied=False)
    modelfolder.write_model(a.folder, random_weights(tokens, eos), config)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(a.real / name, a.folder)


if __name__ == "__main__":
    main()
