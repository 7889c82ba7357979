"""What two results files of one sweep must have in common.

Everything: keys and their order, types (a float is no integer), values. Except
where two runs can't agree, and then both must be true of the mock's schedule:

  elapsed_s            not under what the schedule needs, and within a second of each other
  instance_id          the same where the other's is the same
  download_duration_s  within the 10 s at which exo-bench looks whether it is done
  system_metrics       what changes during a run (gpuUsage, temp, sysPower) is read once a second,
                       so min and max are some of the mock's few values, and the mean is between those;
                       the number of readings within 4 or 40 % of each other
"""

import copy
import statistics

ELAPSED_S = 1.0
POLL_S = 11.0
EARLY_S = 0.001
SAMPLED = {"gpuUsage": {0.02, 0.95}, "temp": {40.0, 55.0}, "sysPower": {20.0, 60.0, 80.0}}


def differences(exo, ours):
    """Where two files differ, as sentences."""
    return list(_differ((), exo, ours, exo, ({}, {})))


def _differ(path, a, b, exo, ids):
    if type(a) is not type(b):
        yield f"{_name(path)}: exo-bench has {_short(a)}, tokwatt {_short(b)}"
    elif isinstance(a, dict):
        if list(a) != list(b):
            yield f"{_name(path)}: keys {list(a)}, tokwatt {list(b)}"
        for k in a:
            if k in b:
                yield from _differ((*path, k), a[k], b[k], exo, ids)
    elif isinstance(a, list):
        if len(a) != len(b):
            yield f"{_name(path)}: {len(a)} entries, tokwatt {len(b)}"
        for i, (x, y) in enumerate(zip(a, b)):
            yield from _differ((*path, i), x, y, exo, ids)
    elif not _agree(path, a, b, exo, ids):
        yield f"{_name(path)}: {_short(a)}, tokwatt {_short(b)}"


def _agree(path, a, b, exo, ids):
    match path:
        case ("runs", i, "elapsed_s"):
            least = schedule(exo["runs"][i]) - EARLY_S
            return a >= least and b >= least and abs(a - b) <= ELAPSED_S
        case ("runs", _, "instance_id"):
            return ids[0].setdefault(a, len(ids[0])) == ids[1].setdefault(b, len(ids[1])) and bool(b)
        case ("runs", _, "download_duration_s"):
            return abs(a - b) <= POLL_S and b > 0
        case ("system_metrics", _, _, "samples"):
            return abs(a - b) <= max(4, 0.4 * max(a, b)) and b > 0
        case ("system_metrics", _, metric, "mean") if metric in SAMPLED:
            return min(SAMPLED[metric]) <= b <= max(SAMPLED[metric])
        case ("system_metrics", _, metric, _) if metric in SAMPLED:
            return b in SAMPLED[metric]
    return a == b


def schedule(run):
    """The seconds that the mock needs for a request, less what it waits for others; 0 where that can't be told."""
    if power := run["power_usage"]:
        return power["elapsed_seconds"]
    s = run["stats"]
    if s.get("prefix_cache_hit") != "none" or not s["generation_tps"]:
        return 0.0
    return s["prompt_tokens"] / s["prompt_tps"] + (s["generation_tokens"] - 1) / s["generation_tps"]


def times(exo, ours):
    """In a line, how the two fared in what may differ."""
    pairs = [(x["elapsed_s"], y["elapsed_s"], schedule(x)) for x, y in zip(exo["runs"], ours["runs"])]
    said = []
    if pairs:
        over = lambda i: statistics.median(p[i] - p[2] for p in pairs) * 1000
        said.append(f"median elapsed_s over the schedule: exo-bench {over(0):.1f} ms, tokwatt {over(1):.1f} ms; furthest apart {max(abs(a - b) for a, b, _ in pairs) * 1000:.0f} ms")
    counts = [[m["sysPower"]["samples"] for m in f.get("system_metrics", {}).values()] for f in (exo, ours)]
    if any(counts):
        said.append(f"readings of a node {counts[0]}, tokwatt {counts[1]}")
    return "; ".join(said) or "nothing measured"


def leaves(x):
    """How many values a document has."""
    if isinstance(x, dict):
        return sum(map(leaves, x.values()))
    return sum(map(leaves, x)) if isinstance(x, list) else 1


def blind(file):
    """Changes of a file that the comparison does not see: it compares each value
    with another one, of the same type and of another, each object without a key
    and with its keys turned round, each list without its last entry."""
    missed = [] if not differences(file, copy.deepcopy(file)) else ["differs from itself"]
    for path, what, changed in _changes(file):
        if not differences(file, changed):
            missed.append(f"{_name(path)} {what}")
    return missed


def _changes(file, path=()):
    at = _at(file, path)
    if isinstance(at, dict):
        if at:
            yield path, "without a key", _with(file, path, dict(list(at.items())[:-1]))
        if len(at) > 1:
            yield path, "in another order", _with(file, path, dict(reversed(at.items())))
        for k in at:
            yield from _changes(file, (*path, k))
    elif isinstance(at, list):
        if at:
            yield path, "one shorter", _with(file, path, at[:-1])
        for i in range(len(at)):
            yield from _changes(file, (*path, i))
    else:
        if not (path[-1] == "instance_id" and len({r["instance_id"] for r in file["runs"]}) == len(file["runs"])):
            yield path, "with another value", _with(file, path, _other(at))
        yield path, "of another type", _with(file, path, {"of": "another type"} if at is None else None)
        if isinstance(at, float):
            yield path, "as an integer", _with(file, path, int(at))


def _other(x):
    if isinstance(x, str):
        return x + "x"
    return None if isinstance(x, bool) else 1 if x is None else x + 100


def _at(file, path):
    for k in path:
        file = file[k]
    return file


def _with(file, path, value):
    """The file with another value in one place; what is not on the way there is shared."""
    if not path:
        return value
    out = copy.copy(file)
    out[path[0]] = _with(file[path[0]], path[1:], value)
    return out


def _name(path):
    return ".".join(map(str, path)) or "the file"


def _short(x):
    text = repr(x)
    return text if len(text) < 80 else text[:77] + "..."
