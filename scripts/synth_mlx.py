#!/usr/bin/env python3
"""Write a small llama with random weights as an MLX model folder.

    synth_mlx.py FOLDER

It serves to measure a real server fast: a few milliseconds a token on one core.
Its text is noise, but noise that a bench can rely on:

 - Every token that it generates shows: of the 1024 tokens only those of
   printable text have an output row, so that no answer is empty and none
   hangs in half a UTF-8 character. All other logits are exactly 0, under the
   largest of hundreds of random ones.
 - It likes to end: the row of the end token is three times as long as others,
   so that most answers stop within a dozen tokens unless the end is banned.
   An EOS ban that does not work is seen at once.
 - A prompt of any length can be made: " a" is one token, as is a space
   together with any small letter, so words of one length cost the same.
"""

import argparse
import string

import mlx.core as mx

import modelfolder

HIDDEN, LAYERS, FFN = 256, 4, 704
HEADS, KV_HEADS, HEAD_DIM = 8, 4, 32
VOCAB, CONTEXT = 1024, 4096
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
BOS, EOS = VOCAB - 3, VOCAB - 1

TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def byte_characters():
    """The printable character by which a byte-level vocabulary writes each byte."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(b) if b in keep else chr(next(rest)) for b in range(256)]


def vocabulary():
    """Tokens by id, and the merges: 256 bytes, a space with each small letter,
    fillers that only generation makes, and the special tokens."""
    letters = string.ascii_lowercase
    tokens = byte_characters() + ["Ġ" + c for c in letters]
    tokens += [f"Ġw{i:03d}" for i in range(VOCAB - len(tokens) - len(SPECIAL))]
    return tokens + SPECIAL, [f"Ġ {c}" for c in letters]


def shows(token):
    return token.isascii() or token[0] == "Ġ" and len(token) > 1


def random_weights(tokens):
    """Weights with the variance that keeps activations at about 1."""
    mx.random.seed(0)
    matrix = lambda rows, columns: mx.random.normal((rows, columns)) * columns**-0.5
    weights = {"model.embed_tokens.weight": mx.random.normal((VOCAB, HIDDEN)), "model.norm.weight": mx.ones(HIDDEN)}
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
    factor = [1.0 if shows(t) else 0.0 for t in tokens]
    factor[BOS], factor[BOS + 1], factor[EOS] = 0.0, 0.0, 3.0
    weights["lm_head.weight"] = matrix(VOCAB, HIDDEN) * mx.array(factor)[:, None]
    return weights


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("folder")
    a = p.parse_args()
    tokens, merges = vocabulary()
    modelfolder.write(
        a.folder,
        weights=random_weights(tokens),
        config=modelfolder.llama_config(
            hidden=HIDDEN, layers=LAYERS, ffn=FFN, heads=HEADS, kv_heads=KV_HEADS, head_dim=HEAD_DIM,
            vocab=VOCAB, eps=1e-6, theta=10000.0, context=CONTEXT, bos=BOS, eos=EOS, tied=False),
        tokenizer=modelfolder.byte_level_tokenizer(tokens, merges, range(BOS, VOCAB)),
        tokens={"bos": SPECIAL[0], "eos": SPECIAL[2], "pad": SPECIAL[0]},
        template=TEMPLATE)


if __name__ == "__main__":
    main()
