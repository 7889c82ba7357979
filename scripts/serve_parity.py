#!/usr/bin/env python3
"""Run exo-bench, unmodified, against `tokwatt serve`, and hold its results file against the server's log.

    serve_parity.py --tokwatt BINARY --work FOLDER [--exo FOLDER] [--only NAME[,NAME]]

Every row of the file must have the statistics and the power of one line of the
log, every value of them, and each line serves one row. The prompts must have as
many tokens as exo-bench counted with the tokenizer folder that is written here,
and requests sent together must have run as one batch. A sensor is played that
always says 50 W, so every energy is known; one sweep is without it. The last one
is of MLX, whose library TOKWATT_MLX_LIB names; the others are of plain Go.

exo-bench comes from a checkout of exo: --exo FOLDER, or EXO_SOURCE, or cloned
where the network has it. Where there is none, nothing is checked, and the exit
code is 2.

Every check prints a line; the exit code is 1 if one failed.
"""

import argparse
import contextlib
import ctypes.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import exo_parity
from checks import Checks
from exo_parity_tokenizer import byte_characters

MODEL = "synthetic:tiny"
SPECIAL = ["<bos>", "<eos>", "<system>", "<user>", "<assistant>"]
TEMPLATE = (
    "<bos>{% for m in messages %}{% if m['role'] == 'system' %}<system>{% else %}<user>{% endif %}{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
EXIT_NO_EXO = 2
QUIT_S = 1.0  # within which ^C ends the server

# Flags of exo-bench, and how many requests they are: measured, and warm-ups. Its
# prompts are of atoms of two bytes in a template of three tokens, so their
# lengths are odd.
SWEEPS = {
    "normal": (["--pp", "65,2001", "--tg", "16,1000", "--repeat", "2", "--warmup", "1"], 4, 1),
    "concurrency": (["--pp", "129", "--tg", "32", "--repeat", "3", "--concurrency", "1,2,4,8"], 45, 0),
    "more_than_admitted": (["--pp", "65", "--tg", "16", "--repeat", "3", "--concurrency", "12"], 36, 0),
    "stream": (["--pp", "65,601", "--tg", "16,16", "--stream"], 2, 0),
    "prefix_cache": (["--pp", "65", "--tg", "8", "--repeat", "3", "--use-prefix-cache"], 3, 0),
    "one_token": (["--pp", "33", "--tg", "1"], 1, 0),
    "reuse_instance": (["--pp", "33", "--tg", "8", "--reuse-instance"], 1, 0),
    "no_sensor": (["--pp", "33", "--tg", "8"], 1, 0),
    "mlx": (["--pp", "129", "--tg", "32", "--repeat", "2", "--concurrency", "1,4"], 10, 0),
}
WATTS = 50.0
SHORT_S = 0.2  # what the sensor must be able to measure; it is read ten times a second
SENSOR = f"#!/bin/sh\nwhile :; do echo '0, [N/A], {WATTS}, 97, 61, 1980, 2520'; sleep 0.1; done\n"
ADMITTED = 8


def write_tokenizer(folder):
    """The byte tokenizer of the engine: token i is the byte i, and the specials follow."""
    folder.mkdir(parents=True)
    vocab = {c: i for i, c in enumerate(byte_characters())}
    added = [{"id": 256 + i, "content": s, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, s in enumerate(SPECIAL)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": level,
        "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": []},
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": SPECIAL[0], "eos_token": SPECIAL[1], "chat_template": TEMPLATE}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


@contextlib.contextmanager
def serving(checks, name, binary, log, sensor):
    """A server; yields its port, and checks how ^C ends it."""
    env = {**os.environ, "PATH": f"{sensor.parent}{os.pathsep}{os.environ['PATH']}", "TOKWATT_POWER": "nvidia"}
    if name == "no_sensor":
        env["TOKWATT_POWER"] = "off"
    engine = "mlx" if name == "mlx" else "reference"
    with open(f"{log}.stderr", "wb") as errors:
        child = subprocess.Popen([binary, "serve", "--engine", engine, "--model", MODEL, "--listen", "127.0.0.1:0", "--log", log], env=env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
    try:
        said = child.stdout.readline().decode()
        if not said.startswith("serving "):
            sys.exit(f"serve_parity: the server did not start: {Path(f'{log}.stderr').read_text()}")
        yield said.split(":")[-1].strip()
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        code = child.wait(30)
        took = time.monotonic() - began
        checks.that(f"{name}: ^C ends the server", code == 130 and took < QUIT_S, f"exit code {code} after {took:.3f} s")
    finally:
        child.kill()
        child.wait()


def one_way(stats):
    """Statistics with the peak as documents have it: streams write it in another way."""
    peak = dict(stats["peak_memory_usage"])
    if "in_bytes" in peak:
        peak["inBytes"] = peak.pop("in_bytes")
    return {**stats, "peak_memory_usage": peak}


def key(stats, power):
    return json.dumps([one_way(stats), power])


def check_rows(checks, name, rows, log, streamed):
    """Each row has a line of its own."""
    left = [key(x["generation_stats"], None if streamed else x["power_usage"]) for x in log]
    strangers = 0
    for row in rows:
        k = key(row["stats"], row["power_usage"])
        if k in left:
            left.remove(k)
        else:
            strangers += 1
    checks.that(f"{name}: stats and power_usage of every row are those of a line of the log", rows and not strangers, f"{len(rows)} rows, {strangers} without a line")
    checks.that(f"{name}: the prompts have the lengths that exo-bench counted", all(r["stats"]["prompt_tokens"] == r["pp_tokens"] for r in rows))
    checks.that(f"{name}: as many tokens came as were asked for", all(r["stats"]["generation_tokens"] == r["tg"] for r in rows))
    hits = [r["stats"]["prefix_cache_hit"] for r in rows]
    wanted = ["none", *["exact"] * (len(rows) - 1)] if name == "prefix_cache" else ["none"] * len(rows)
    checks.that(f"{name}: hits of the prefix cache where it was asked for, else none", hits == wanted, hits if name == "prefix_cache" else "")


def check_batches(checks, name, log, sweep):
    """Requests that came together ran together."""
    sizes = [x["batch_streams"] for x in log]
    if "--concurrency" not in sweep:
        checks.that(f"{name}: one request at a time", set(sizes) == {1}, sizes)
        return
    # On a busy machine a request may come late, so one repeat of each must have run whole.
    missing = [n for n in map(int, sweep[sweep.index("--concurrency") + 1].split(",")) if sizes.count(min(n, ADMITTED)) < min(n, ADMITTED)]
    checks.that(f"{name}: requests sent together ran as one batch, of {ADMITTED} at most", not missing and max(sizes) <= ADMITTED, f"sizes {sorted(sizes)}")


def check_power(checks, name, result, log):
    """The energy is the sensor's power times the time, and where it is not known it is no figure."""
    uses = [x["power_usage"] for x in log]
    if name == "no_sensor":
        figures = [v for u in uses for k, v in u.items() if k.endswith(("joules", "watts"))]
        checks.that(f"{name}: no nodes, and no figure is 0", all(u["nodes"] == [] for u in uses) and figures and not any(f is not None for f in figures))
        checks.that(f"{name}: exo-bench has no metrics of the node", "system_metrics" not in result)
        return
    parts = [(u[f"{part}energy_joules"], u[seconds]) for u in uses
             for part, seconds in [("total_", "elapsed_seconds"), ("prefill_", "prefill_seconds"), ("generation_", "generation_seconds")]]
    known = [(j, s) for j, s in parts if j is not None]
    checks.that(f"{name}: every energy is {WATTS} W times its time, or null where that is too short for the sensor", all(
        abs(j - WATTS * s) < 1e-6 if j is not None else s < SHORT_S for j, s in parts), f"{len(known)} of {len(parts)} are known, of up to {max(s for _, s in parts):.3f} s")
    checks.that(f"{name}: the node's figures are those of the whole", all(
        [n["prefill_energy_joules"] for n in u["nodes"]] == ([] if u["total_energy_joules"] is None else [u["prefill_energy_joules"]]) for u in uses))
    checks.that(f"{name}: the first output parts prefill from generation", all(
        abs(u["prefill_seconds"] + u["generation_seconds"] - u["elapsed_seconds"]) < 1e-6
        and (x["generation_stats"]["prefix_cache_hit"] != "none"
             or u["prefill_seconds"] >= x["queued_s"] + 0.9 * x["generation_stats"]["prompt_tokens"] / x["generation_stats"]["prompt_tps"])
        for u, x in zip(uses, log)))
    if name != "reuse_instance":
        sampled = [m["sysPower"] for m in result["system_metrics"].values()]
        checks.that(f"{name}: exo-bench sampled the sensor", len(sampled) == 1 and sampled[0]["min"] == sampled[0]["max"] == WATTS, sampled)


def run(checks, name, binary, bench, sensor, work):
    sweep, measured, warm = SWEEPS[name]
    out, log_file = work / f"{name}.json", work / f"{name}.log.jsonl"
    with serving(checks, name, binary, log_file, sensor) as port:
        code = exo_parity.run(bench.command(port, sweep, out), out, env=bench.env, cwd=bench.cwd)
    checks.that(f"{name}: exo-bench's exit code", code == 0, code)
    if not out.exists():
        checks.that(f"{name}: exo-bench wrote its file", False, Path(f"{out}.console.txt").read_text(errors="replace")[-800:])
        return
    result = json.loads(out.read_text(encoding="utf-8"))
    log = [json.loads(x) for x in log_file.read_text(encoding="utf-8").splitlines()]
    checks.that(f"{name}: rows", len(result["runs"]) == measured, len(result["runs"]))
    checks.that(f"{name}: lines of the log", len(log) == measured + warm and {x["outcome"] for x in log} == {"complete"}, len(log))
    checks.that(f"{name}: the cluster is this node", len(result.get("cluster", {}).get("topology", {}).get("nodes", [])) == 1)
    check_rows(checks, name, result["runs"], log, "--stream" in sweep)
    check_batches(checks, name, log, sweep)
    if ctypes.util.find_library("nvidia-ml"):
        print(f"      {name}: the energy is not held against {WATTS} W: a real GPU was read")
    else:
        check_power(checks, name, result, log)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tokwatt", required=True, type=Path)
    p.add_argument("--work", required=True, type=Path, help="emptied first")
    p.add_argument("--exo", default=os.environ.get("EXO_SOURCE"), help="a checkout of exo")
    p.add_argument("--only", help="these sweeps")
    a = p.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    work = a.work.resolve()

    source, said = exo_parity.exo_source(a.exo, work)
    if source is None:
        print(f"nothing is checked, for there is no exo to run ({said}): name a checkout with --exo")
        sys.exit(EXIT_NO_EXO)
    print(f"live: {said}", flush=True)
    exo_parity.MODEL = MODEL
    bench = exo_parity.ExoBench(source, work)
    shutil.rmtree(bench.cwd / MODEL)
    write_tokenizer(bench.cwd / MODEL)
    sensor = work / "bin" / "nvidia-smi"
    sensor.parent.mkdir()
    sensor.write_text(SENSOR)
    sensor.chmod(0o755)
    checks = Checks()
    for name in a.only.split(",") if a.only else SWEEPS:
        run(checks, name, a.tokwatt.resolve(), bench, sensor, work)
    checks.end()


if __name__ == "__main__":
    main()
