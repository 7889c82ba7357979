#!/usr/bin/env python3
"""Compare the processor time that tokwatt's engine and mlx_lm take with MLX.

    mlx_speed.py ENGINE_TEST FOLDER [RUNS]

ENGINE_TEST is the compiled test of mlx/engine, FOLDER a model. Both take a
prompt of 512 tokens and generate 128, by turns, RUNS (5) times each after one
run that does not count. Processor time and not time on the clock, since other
work on the machine lengthens that by any factor. Medians are compared; MLX
computes on the CPU.
"""

import os
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

PROMPT, GENERATED = 512, 128


def tokwatt(test, folder):
    """Microseconds a prompt token, and a token, of one run after a warm-up."""
    out = subprocess.run(
        [test, "-test.run", "^$", "-test.bench", "^BenchmarkMLX$", "-test.benchtime", "1x", "-test.count", "2"],
        env={**os.environ, "TOKWATT_MLX_MODEL": folder}, check=True, capture_output=True, text=True).stdout
    figures = re.findall(r"([\d.]+) µs/prompt-token\s+([\d.]+) µs/token", out)
    return tuple(map(float, figures[-1]))


def mlx_lm(folder):
    out = subprocess.run([sys.executable, __file__, folder], check=True, capture_output=True, text=True).stdout
    return tuple(map(float, out.split()))


def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def measure(folder):
    """What mlx_lm takes, in a process of its own."""
    import mlx.core as mx
    from mlx_lm.generate import generate_step
    from mlx_lm.utils import load_model

    mx.set_default_device(mx.cpu)
    model, config = load_model(Path(folder))
    prompt = mx.random.randint(0, 256, (PROMPT,))
    for _ in range(2):
        begin, first = used(), None
        for _ in generate_step(prompt, model, max_tokens=GENERATED, prefill_step_size=2048):
            first = first or used()
        end = used()
    print(1e6 * (first - begin) / PROMPT, 1e6 * (end - first) / (GENERATED - 1))


def main():
    if len(sys.argv) == 2:
        return measure(sys.argv[1])
    test, folder = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    ours, theirs = [], []
    for _ in range(runs):
        ours.append(tokwatt(test, folder))
        theirs.append(mlx_lm(folder))
    print(f"{Path(folder).name}: µs of processor time, median of {runs}")
    for what, i in (("a prompt token", 0), ("a token", 1)):
        a, b = (statistics.median(r[i] for r in rows) for rows in (ours, theirs))
        print(f"  {what:15} tokwatt {a:8.0f}   mlx_lm {b:8.0f}   {100 * (a / b - 1):+.1f} %")


if __name__ == "__main__":
    main()
