#!/usr/bin/env python3
"""Measure a real server with the real binary, and check what comes out.

    e2e.py --tokwatt BINARY --models FOLDER --work FOLDER [--full]

The server is mlx_lm.server of the Python that runs this file; it serves the
folders "smollm2" (real weights, scripts/gguf2mlx.py) and "synthetic" (fast
noise, scripts/synth_mlx.py). tokwatt talks to it through scripts/raw_reader.py,
which notes when the first output of each request arrived; its times and
tokwatt's are compared request by request. All of it runs on loopback.

Every check prints a line; the exit code is 1 if one failed. Nothing is skipped.
"""

import argparse
import contextlib
import json
import os
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from checks import Checks

HERE = Path(__file__).parent
MODELS = {  # what is asked of each folder
    "smollm2": {
        "ci": ["--pp", "64", "--tg", "16", "--concurrency", "1", "--repeat", "4"],
        "full": ["--pp", "128", "--tg", "32", "--concurrency", "1,2", "--repeat", "6"],
    },
    "synthetic": {
        "ci": ["--pp", "64,161", "--tg", "24", "--concurrency", "1,2", "--repeat", "6"],
        "full": ["--pp", "128,512", "--tg", "64", "--concurrency", "1,4", "--repeat", "6"],
    },
}
LEAST_ROWS = 30
TTFT_TOLERANCE_MS = 5.0
SERVER_START_S = 120
COMMAND_S = 3600

# A request of tokwatt's and one that the reader saw are the same if they were
# sent within this time of one another and their text is equal.
SAME_REQUEST_NS = 200_000_000
PREVIEW = 200  # code points that tokwatt keeps of an answer


# Processes.

@contextlib.contextmanager
def running(command, log, **options):
    """A child process that is ended when the block is left."""
    with open(log, "ab") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=out, **{"stdout": out, **options})
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def mlx_server(folder, work):
    """mlx_lm.server over a folder; yields its address, host:port.

    Its hub cache is an empty folder: without one, /v1/models has no body, and
    an id that it does not know would be looked for on the network.
    """
    hub, tmp = work / "hub", work / "tmp"
    hub.mkdir(exist_ok=True)
    tmp.mkdir(exist_ok=True)
    port = free_port()
    command = [Path(sys.executable).parent / "mlx_lm.server", "--model", folder, "--host", "127.0.0.1", "--port", str(port)]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(hub), "TMPDIR": str(tmp)}
    log = work / f"server-{folder.name}.log"
    with running(command, log, env=env) as child:
        address = f"127.0.0.1:{port}"
        deadline = time.monotonic() + SERVER_START_S
        while not healthy(address):
            if child.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"e2e: mlx_lm.server did not start; its log ends:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)
        yield address


def healthy(address):
    try:
        return json.loads(get(f"http://{address}/health"))["status"] == "ok"
    except OSError:
        return False


@contextlib.contextmanager
def raw_reader(address, work, name):
    """The reader before a server; yields its address and the file it writes."""
    log = work / f"raw-{name}.jsonl"
    command = [sys.executable, HERE / "raw_reader.py", "--to", address, "--log", log]
    with running(command, work / "raw_reader.log", stdout=subprocess.PIPE) as child:
        port = child.stdout.readline().split()[-1].decode()
        yield f"127.0.0.1:{port}", log


def get(url, body=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as r:
        return r.read()


class Tokwatt:
    def __init__(self, binary, work):
        self.binary, self.db = binary, work / "e2e.db"
        self.env = {**os.environ, "HOME": str(work)}

    def run(self, *args, keep=False, store=True):
        """The exit code of a command on the store, and what it printed if that is kept."""
        command = [str(a) for a in (args[0], *(["--db", self.db] if store else []), *args[1:])]
        print("$ tokwatt", shlex.join(command), flush=True)
        try:
            done = subprocess.run([self.binary, *command], stdin=subprocess.DEVNULL, stderr=sys.stdout,
                                  stdout=subprocess.PIPE if keep else sys.stdout, text=True, env=self.env, timeout=COMMAND_S)
        except subprocess.TimeoutExpired:
            return f"none within {COMMAND_S} s", ""
        return done.returncode, done.stdout

    def query(self, sql, *flags):
        code, out = self.run("query", "--format", "json", *flags, " ".join(sql.split()), keep=True)
        if code != 0:
            sys.exit(f"e2e: query ended with the exit code {code}: {out}")
        return json.loads(out)


# What is checked.

def check_models(checks, name, address):
    """That the folder is what it should be, asked past tokwatt."""
    if name == "smollm2":
        answer = get(f"http://{address}/v1/completions", {"prompt": "The capital of France is", "max_tokens": 3, "temperature": 0})
        text = json.loads(answer)["choices"][0]["text"]
        checks.that("SmolLM2 knows the capital of France", text.lstrip().startswith("Paris"), repr(text))
        return
    # Shows that the check of the EOS ban below can fail.
    answer = get(f"http://{address}/v1/chat/completions", {
        "messages": [{"role": "user", "content": "hello"}], "max_tokens": 24, "temperature": 0})
    reason = json.loads(answer)["choices"][0]["finish_reason"]
    checks.equal("without an EOS ban the synthetic model stops early", reason, "stop")


def listed_model(address):
    return json.loads(get(f"http://{address}/v1/models"))["data"][0]["id"]


RUNS = """
    select r.start_ns, epoch_us(s.started_at) as origin_us, r.pp, r.tg, r.status, r.error, r.in_cold_stats,
           r.pp_tokens, r.prompt_tokens, r.tokens_generated, r.tokens_source, r.cached_tokens, r.prefix_cache_hit, r.finish_reason,
           r.ttft_ms, r.total_duration_ms, r.output_text_preview, r.flags, r.engine, r.engine_version, r.model_id, r.eos_ban,
           r.cold_method, r.template_head_tokens, r.prompt_source
    from runs r join segments s on s.session_id = r.session_id and s.segment = r.segment
    where r.session_id = (select max(session_id) from sessions)
    order by r.start_ns
"""


def check_rows(checks, name, rows):
    first = rows[0] if rows else {}
    checks.equal(f"{name}: engine", [first.get("engine"), first.get("engine_version")], ["mlx_lm", mlx_version()])
    checks.equal(f"{name}: model by its base name", {r["model_id"] for r in rows}, {name})
    checks.equal(f"{name}: EOS ban", {r["eos_ban"] for r in rows}, {"logit_bias"})
    every(checks, f"{name}: no failures", rows, lambda r: r["status"] == "ok")
    every(checks, f"{name}: the prompt has exactly pp tokens, as the server counts", rows, lambda r: r["prompt_tokens"] == r["pp"] == r["pp_tokens"])
    checks.equal(f"{name}: the prompts are counted by the model's own tokenizer", {r["prompt_source"] for r in rows}, {"tokenizer"})
    checks.equal(f"{name}: cold by", {r["cold_method"] for r in rows}, {"nonce"})
    every(checks, f"{name}: nothing but the template's head came from the server's cache", rows,
          lambda r: r["cached_tokens"] is not None and r["cached_tokens"] <= r["template_head_tokens"])
    every(checks, f"{name}: exactly tg tokens generated, as the server counts", rows,
          lambda r: r["tokens_generated"] == r["tg"] and r["tokens_source"] == "server" and r["finish_reason"] == "length")
    every(checks, f"{name}: in cold statistics", rows, lambda r: r["in_cold_stats"])
    every(checks, f"{name}: 0 < TTFT < total", rows, lambda r: r["ttft_ms"] and 0 < r["ttft_ms"] < r["total_duration_ms"])
    print(f"      flags: {sorted({f for r in rows for f in r['flags'] or []})}")


def check_engines(checks, tokwatt, name, address):
    """What is said of a server before it is measured."""
    code, out = tokwatt.run("engines", "--url", f"http://{address}/v1", "--json", keep=True, store=False)
    found = json.loads(out) if code == 0 else [{}]
    told = [(f.get("engine"), f.get("version"), f.get("driver"), f.get("eos_ban_by"), f.get("cold_method"), f.get("cached_tokens")) for f in found]
    # Without a request whose answer bears its fingerprint it may be another server.
    checks.equal(f"{name}: engines --url", told, [("mlx_lm", mlx_version(), "openai", "logit_bias_unverified", "nonce", True)])
    checks.that(f"{name}: engines --url lists it by its base name", name in found[0].get("models", []), found[0].get("models"))


QUESTION = "What is the capital of France? Answer in one sentence."


def check_switches(checks, tokwatt, folder, address):
    """What the EOS ban and the cold prompts do, against the same without them."""
    ask = ["collect", "--url", f"http://{address}", "--model", listed_model(address), "--tg", "20", "--repeat", "4", "--warmup", "0",
           "--pause", "50ms", "--group-pause", "50ms", "--no-system-metrics"]

    tokwatt.run(*ask, "--prompt", QUESTION, "--tokenizer", folder)
    rows = tokwatt.query(RUNS)
    every(checks, "with the EOS ban: 20 of 20 tokens", rows,
          lambda r: (r["eos_ban"], r["tokens_generated"], r["finish_reason"]) == ("logit_bias", 20, "length"))
    tokwatt.run(*ask, "--prompt", QUESTION, "--tokenizer", "server")
    rows = tokwatt.query(RUNS)
    every(checks, "without end tokens there is none, and the answer is short", rows,
          lambda r: not r["eos_ban"] and r["tokens_generated"] < 20 and r["finish_reason"] == "stop" and "short_output" in r["flags"])

    code, _ = tokwatt.run(*ask, "--pp", "64", "--tokenizer", folder, "--use-prefix-cache")
    rows = tokwatt.query(RUNS)
    checks.equal("with the prefix cache: exit code", code, 0)
    every(checks, "with the prefix cache no prompt is made cold", rows, lambda r: not r["cold_method"])
    every(checks, "with the prefix cache all but the first are exact hits", rows[1:],
          lambda r: r["prefix_cache_hit"] == "exact" and r["cached_tokens"] >= r["pp"] - 1)


def every(checks, what, rows, holds):
    bad = [r for r in rows if not holds(r)]
    checks.that(what, rows and not bad, f"{len(rows)} rows" if not bad else f"{len(bad)} of {len(rows)} rows are not, the first: {bad[0]}")


def mlx_version():
    from importlib.metadata import version
    return version("mlx-lm")


def check_ttft(checks, name, rows, log):
    """Compare each row with what the raw reader saw of it."""
    seen = [json.loads(line) for line in log.read_text().splitlines()]
    checks.equal(f"{name}: the reader could read every response", [x for x in seen if x["chunked"]], [])
    differences, alone = [], 0
    for row in rows:
        x = twin(row, seen)
        if x is None:
            alone += 1
            continue
        seen.remove(x)
        differences.append(abs(row["ttft_ms"] - x["ttft_ms"]))
    checks.equal(f"{name}: rows that the reader did not see", alone, 0)
    if differences:
        middle, worst = statistics.median(differences), max(differences)
        checks.that(f"{name}: TTFT against the raw reader, median difference within {TTFT_TOLERANCE_MS:g} ms", middle <= TTFT_TOLERANCE_MS,
                    f"median {middle:.3f} ms, max {worst:.3f} ms, {len(differences)} requests, "
                    f"median TTFT {statistics.median(r['ttft_ms'] for r in rows):.1f} ms")


def twin(row, seen):
    """The exchange nearest in time to a row, of those with its text."""
    sent = row["origin_us"] * 1000 + row["start_ns"]
    apart = lambda x: abs(x["sent_unix_ns"] - sent)
    same = [x for x in seen if x["ttft_ms"] and apart(x) < SAME_REQUEST_NS and x["text"][:PREVIEW] == row["output_text_preview"]]
    return min(same, key=apart, default=None)


def check_measuring(checks, tokwatt, models, work, size):
    rows = []
    for name, matrix in MODELS.items():
        folder = (models / name).resolve()
        with mlx_server(folder, work) as server, raw_reader(server, work, name) as (address, log):
            check_models(checks, name, server)
            check_engines(checks, tokwatt, name, server)
            code, _ = tokwatt.run("collect", "--url", f"http://{address}", "--model", listed_model(server), "--tokenizer", folder,
                                  *matrix[size], "--pause", "50ms", "--group-pause", "50ms", "--no-system-metrics")
            checks.equal(f"{name}: collect's exit code", code, 0)
            mine = tokwatt.query(RUNS)
            check_rows(checks, name, mine)
            check_ttft(checks, name, mine, log)
            if name == "smollm2":
                check_switches(checks, tokwatt, folder, server)
            rows += mine
    cold = sum(bool(r["in_cold_stats"]) for r in rows)
    checks.that(f"at least {LEAST_ROWS} rows in statistics", cold >= LEAST_ROWS, cold)


def check_answers(checks, tokwatt, work):
    """The commands of the main job that come after collect."""
    code, out = tokwatt.run("summary", "last", keep=True)
    print(out, end="")
    checks.that("summary last", code == 0 and "synthetic" in out, f"exit code {code}")
    checks.that("the summary fits 80 columns", max(map(len, out.splitlines()), default=0) <= 80)

    groups = tokwatt.query("select model_id, pp, concurrency, median(generation_tps) as tps from runs where in_stats group by all order by all")
    every(checks, "query: a median for each model, pp and concurrency", groups, lambda g: g["tps"] and g["tps"] > 0)

    picture = work / "scaling.png"
    code, _ = tokwatt.run("plot", "scaling", "--out", picture)
    checks.that("plot scaling", code == 0 and picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n"), f"exit code {code}")

    dataset = work / "dataset"
    codes, files = [], []
    for _ in range(2):
        codes.append(tokwatt.run("archive", "--to", dataset)[0])
        files.append({p.relative_to(dataset): p.read_bytes() for p in dataset.rglob("*.parquet")})
    checks.equal("archive, twice: exit codes", codes, [0, 0])
    checks.that("archive: the second changes nothing", files[0] and files[0] == files[1], f"{len(files[0])} files")
    count = "select count(*) as n from requests"
    checks.equal("the dataset has the store's requests", tokwatt.query(count, "--dataset", dataset), tokwatt.query(count))

    code, _ = tokwatt.run("check")
    checks.equal("check: the store is whole", code, 0)


def check_refusals(checks, tokwatt, models, work):
    """Exit codes where nothing can be measured."""
    matrix = ["--pp", "64", "--tg", "4", "--repeat", "1", "--warmup", "0"]
    with mlx_server((models / "synthetic").resolve(), work) as server:
        code, _ = tokwatt.run("collect", "--url", f"http://{server}", "--model", "no/such-model", *matrix)
        checks.equal("a model that the server does not have: exit code", code, 3)
    code, _ = tokwatt.run("collect", "--url", f"http://{server}", "--model", "synthetic", *matrix)
    checks.equal("a server that has gone: exit code", code, 3)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tokwatt", required=True, type=Path)
    p.add_argument("--models", required=True, type=Path)
    p.add_argument("--work", required=True, type=Path, help="emptied first")
    p.add_argument("--full", action="store_true", help="more and longer requests")
    a = p.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    work = a.work.resolve()

    checks = Checks()
    tokwatt = Tokwatt(a.tokwatt.resolve(), work)
    check_measuring(checks, tokwatt, a.models, work, "full" if a.full else "ci")
    check_answers(checks, tokwatt, work)
    check_refusals(checks, tokwatt, a.models, work)
    checks.end()


if __name__ == "__main__":
    main()
