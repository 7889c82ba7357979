#!/usr/bin/env python3
"""Run the same sweep through exo-bench and through tokwatt, and compare their results files.

    exo_parity.py --tokwatt BINARY --work FOLDER [--exo FOLDER] [--full] [--only NAME[,NAME]] [--jobs N]

Each sweep has two mocks (scripts/exo_mock.py, whose every number follows from
a fixed schedule), one for either client. The sweeps are those of
testdata/transcripts/exo/results/scenarios.json, where exo-bench's files of an
earlier run are kept as well.

exo-bench itself comes from a checkout of exo: --exo FOLDER, or EXO_SOURCE, or
cloned where the network has it. Where there is none, tokwatt's files are
compared with the kept ones instead; the first line says which it is. What the
comparison lets pass is in scripts/exo_parity_files.py.

Every check prints a line; the exit code is 1 if one failed. Nothing is skipped.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import exo_parity_files as files
import exo_parity_tokenizer
from checks import Checks

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parent / "testdata" / "transcripts" / "exo" / "results"
REPOSITORY, COMMIT = "https://github.com/exo-explore/exo", "b5375f8cee4368d09e1ce96a56b9f81fb0bc81aa"
LOGURU = "loguru==0.7.3"  # all that exo-bench imports beside transformers
MODEL = "mock-org/Mock-3B-4bit"
SWEEP_S = 600
FETCH_S = 120

# What runs on CI; --full runs all.
CI = ["normal_zip", "concurrency", "stream", "prefix_cache", "reuse_instance", "fault_error_500", "fault_power_null", "two_nodes"]

# Sweeps of exo-bench that are no run of tokwatt's, each with its reason.
NO_RUN = {
    "dry_run": "sends nothing, and neither client writes a file",
    "tg1": "tokwatt refuses --tg 1: one token has no rate",
    "fault_runner_failed": "nothing can be measured, so no session is stored",
}

# Sweeps where tokwatt's file has to differ: how many runs it has, and why.
DIFFERENT = {
    "overshoot": (0, "exo-bench reads the sensors beside nothing at all"),
    "fault_stream_cut": (0, "exo-bench takes half an answer for a whole one"),
    "fault_stats_null": (0, "exo-bench crashes on null statistics"),
    "fault_slow_gone": (1, "exo-bench loses all where an instance goes slowly"),
}
EXIT_FAILURES, EXIT_NOTHING = 1, 3
EXIT = {"fault_error_500": EXIT_FAILURES, "fault_stream_cut": EXIT_NOTHING, "fault_stats_null": EXIT_NOTHING, "overshoot": EXIT_NOTHING}


# exo-bench.

class ExoBench:
    """exo's bench client out of a checkout, with a tokenizer where it looks for one."""

    def __init__(self, source, work):
        self.program, self.cwd = source / "bench" / "exo_bench.py", work / "exo-cwd"
        exo_parity_tokenizer.write(self.cwd / MODEL)
        paths = [source / "tools" / "src"]
        if subprocess.run([sys.executable, "-c", "import loguru"], capture_output=True).returncode:
            paths.append(work / "site")
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", paths[-1], LOGURU], check=True)
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "HF_HUB_OFFLINE": "1", "NO_COLOR": "1"}

    def command(self, port, sweep, out):
        return [sys.executable, self.program, "--host", "127.0.0.1", "--port", port, "--model", MODEL, *sweep, "--json-out", out]


def exo_source(given, work):
    """A checkout of exo, or None and why there is none."""
    if given:
        return Path(given).resolve(), f"exo-bench of {given}"
    clone = work / "exo"
    steps = [  # of one commit, and of two folders
        ["git", "init", "-q", clone],
        ["git", "-C", clone, "remote", "add", "origin", REPOSITORY],
        ["git", "-C", clone, "sparse-checkout", "set", "bench", "tools"],
        ["git", "-C", clone, "fetch", "-q", "--depth", "1", "--filter=blob:none", "origin", COMMIT],
        ["git", "-C", clone, "checkout", "-q", "FETCH_HEAD"],
    ]
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=FETCH_S, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
        except (OSError, subprocess.TimeoutExpired) as e:
            return None, str(e)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["git failed"])[-1]
    return clone, f"exo-bench of {REPOSITORY} at {COMMIT[:7]}"


# The two clients of a sweep.

@contextlib.contextmanager
def mock(arguments, log):
    """A mock server; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = str(s.getsockname()[1])
    command = [sys.executable, HERE / "exo_mock.py", "--port", port, "--log", f"{log}.requests.jsonl", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        child.stdout.readline()
        wait_for(port)
        yield port
    finally:
        child.kill()
        child.wait()


def wait_for(port):
    deadline = time.monotonic() + 30
    while True:
        try:
            return get(port, "/node_id")
        except OSError:
            if time.monotonic() > deadline:
                sys.exit("exo_parity: the mock did not start")
            time.sleep(0.1)


def get(port, path, body=None):
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data, timeout=30) as r:
        return json.loads(r.read())


def place(port):
    """An instance that is there before the client comes."""
    get(port, "/place_instance", {})
    while not any("RunnerReady" in r for r in get(port, "/state/runners").values()):
        time.sleep(0.1)


def run(command, out, **options):
    """The exit code of a client."""
    with open(f"{out}.console.txt", "wb") as console:
        console.write(f"$ {shlex.join(map(str, command))}\n".encode())
        console.flush()
        try:
            return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, timeout=SWEEP_S, **options).returncode
        except subprocess.TimeoutExpired:
            return f"none within {SWEEP_S} s"


def client(sweep, out, command, **options):
    """Run one client against a mock of its own; its exit code and its file."""
    with mock(sweep["mock"], out) as port:
        if "--reuse-instance" in sweep["bench"]:
            place(port)
        code = run(command(port, sweep["bench"], f"{out}.json"), out, **options)
    path = Path(f"{out}.json")
    return code, json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


class Tokwatt:
    def __init__(self, binary, work):
        self.binary, self.work = binary, work
        self.env = {**os.environ, "HOME": str(work)}
        exo_parity_tokenizer.write(work / "tokenizer")

    def command(self, port, matrix, out):
        return [self.binary, "collect", "--db", f"{out}.db", "--profile", "exo", "--host", "127.0.0.1", "--port", port, "--model", MODEL, *matrix,
                "--tokenizer", self.work / "tokenizer", "--json-out", out]


def both(name, sweep, tokwatt, bench, work):
    """Exit code and file of both clients, run beside each other."""
    folder = work / name
    folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        mine = pool.submit(client, sweep, folder / "tokwatt", tokwatt.command, env=tokwatt.env)
        if bench is None:
            kept = RECORDED / f"{name}.json"
            return (0, json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None), mine.result()
        theirs = pool.submit(client, sweep, folder / "exo", bench.command, env=bench.env, cwd=bench.cwd)
        return theirs.result(), mine.result()


def check(checks, name, sweep, theirs, mine, work):
    (_, exo), (code, ours) = theirs, mine
    checks.that(f"{name}: tokwatt's exit code", code == EXIT.get(name, 0), code)
    if ours is None:
        console = (work / name / "tokwatt.console.txt").read_text(encoding="utf-8", errors="replace")
        checks.that(f"{name}: tokwatt wrote a file", False, console[-600:])
        return
    if name in DIFFERENT:
        count, why = DIFFERENT[name]
        checks.that(f"{name}: {why}; tokwatt's runs", len(ours["runs"]) == count, len(ours["runs"]))
        return
    if exo is None:
        checks.that(f"{name}: exo-bench wrote a file", False, theirs[0])
        return
    found = files.differences(exo, ours)
    checks.that(f"{name}: {len(exo['runs'])} runs, {files.leaves(ours)} values agree", not found, "" if not found else f"{len(found)} differences\n      " + "\n      ".join(found[:12]))
    print(f"      {files.times(exo, ours)}")


# What tokwatt's file is beside its contents.

def check_stdout(checks, tokwatt, work):
    """--stdout prints the file, and nothing else."""
    with mock([], work / "stdout") as port, open(work / "stdout.console.txt", "wb") as console:
        command = tokwatt.command(port, ["--pp", "32", "--tg", "8", "--stdout"], work / "stdout.json")
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=console, env=tokwatt.env, timeout=SWEEP_S)
    file = work / "stdout.json"
    checks.that("--stdout prints what --json-out writes", file.exists() and done.stdout == file.read_bytes() and b'"runs"' in done.stdout, f"{len(done.stdout)} bytes")


def check_interrupt(checks, tokwatt, work):
    """After ^C the file has what was measured; after --resume it has all."""
    folder = work / "interrupt"
    folder.mkdir()
    file = folder / "results.json"
    with mock([], folder / "mock") as port, open(folder / "console.txt", "wb") as console:
        options = {"stdin": subprocess.DEVNULL, "stdout": console, "stderr": console, "env": tokwatt.env}
        child = subprocess.Popen(list(map(str, tokwatt.command(port, ["--pp", "32", "--tg", "50", "--repeat", REPEATS], file))), **options)
        deadline = time.monotonic() + SWEEP_S
        while measured(folder / "mock.requests.jsonl") < 2 and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        code = child.wait(SWEEP_S)
        runs = repeats(file)
        checks.that("interrupted: exit code", code == 130, code)
        checks.that("interrupted: the file has what was measured", 2 <= len(runs) < REPEATS and runs == list(range(len(runs))), f"repeats {runs}")
        left = [p.name for p in folder.iterdir() if p.name.startswith(".")]
        checks.that("interrupted: no half a file is left", not left, left or "")
        resume = [tokwatt.binary, "collect", "--db", f"{file}.db", "--resume", "last", "--json-out", file]
        code = subprocess.run(list(map(str, resume)), timeout=SWEEP_S, **options).returncode
    runs = repeats(file)
    checks.that("resumed: exit code", code == 0, code)
    checks.that("resumed: the file has the runs of both segments", sorted(runs) == list(range(REPEATS)), f"repeats {runs}")


REPEATS = 5


def repeats(file):
    return [r["repeat_index"] for r in json.loads(file.read_text(encoding="utf-8"))["runs"]] if file.exists() else []


def measured(log):
    """How many measured requests have been answered: what tokwatt asks beforehand is streamed."""
    lines = map(json.loads, log.read_text().splitlines()) if log.exists() else []
    return sum("/chat/completions" in x["path"] and "stream" not in x for x in lines)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tokwatt", required=True, type=Path)
    p.add_argument("--work", required=True, type=Path, help="emptied first")
    p.add_argument("--exo", default=os.environ.get("EXO_SOURCE"), help="a checkout of exo")
    p.add_argument("--full", action="store_true", help="every sweep")
    p.add_argument("--only", help="these sweeps")
    p.add_argument("--jobs", type=int, default=3, help="sweeps at a time")
    a = p.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    a.work.mkdir(parents=True)
    work = a.work.resolve()

    source, said = exo_source(a.exo, work)
    print(f"live: {said}" if source else f"recorded: tokwatt against the kept files of exo-bench, for there is no exo to run ({said})", flush=True)
    checks = Checks()
    sweeps = json.loads((RECORDED / "scenarios.json").read_text(encoding="utf-8"))
    for name in sweeps:
        kept = RECORDED / f"{name}.json"
        if kept.exists():
            missed = files.blind(json.loads(kept.read_text(encoding="utf-8")))
            checks.that(f"the comparison sees every change in {name}.json", not missed, "; ".join(missed[:5]))
    tokwatt = Tokwatt(a.tokwatt.resolve(), work)
    bench = ExoBench(source, work) if source else None
    wanted = a.only.split(",") if a.only else list(sweeps) if a.full else CI
    for name in [n for n in wanted if n in NO_RUN]:
        print(f"      {name}: no sweep of tokwatt's: {NO_RUN[name]}")
    wanted = [n for n in wanted if n not in NO_RUN]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        results = {n: pool.submit(both, n, sweeps[n], tokwatt, bench, work) for n in wanted}
        for name, result in results.items():
            check(checks, name, sweeps[name], *result.result(), work)
    if not a.only:
        check_stdout(checks, tokwatt, work)
        check_interrupt(checks, tokwatt, work)
    checks.end()


if __name__ == "__main__":
    main()
