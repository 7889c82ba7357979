#!/usr/bin/env python3
"""Write mlx_lm's logits of a model folder for given token ids.

    parity_mlx_lm.py FOLDER IDS PREFILL OUT [FOLDER IDS PREFILL OUT ...]

IDS are token ids with commas between. The first PREFILL of them go through the
model at once, each of the rest alone, against the cache, whatever the model
would have chosen (teacher forcing). OUT gets the logits of every token as
little-endian float32, one row of the vocabulary's size each.

Needs Python packages mlx[cpu] (or mlx on a Mac) and mlx-lm, nothing else: no
tokenizer is loaded and nothing is downloaded.
"""
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Without it MLX on a CPU compiles small kernels with g++ while it runs.
os.environ.setdefault("MLX_DISABLE_COMPILE", "1")

from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model


def write_logits(folder, ids, prefill, out):
    ids, prefill = [int(i) for i in ids.split(",")], int(prefill)
    model, _ = load_model(Path(folder))
    cache = make_prompt_cache(model)
    steps = [ids[:prefill]] + [[i] for i in ids[prefill:]]
    with open(out, "wb") as f:
        for step in steps:
            logits = model(mx.array([step]), cache=cache)[0].astype(mx.float32)
            f.write(np.array(logits).astype("<f4").tobytes())


def main():
    mx.set_default_device(mx.cpu)  # f32 on a GPU may be computed in less
    for at in range(1, len(sys.argv), 4):
        write_logits(*sys.argv[at : at + 4])


if __name__ == "__main__":
    main()
