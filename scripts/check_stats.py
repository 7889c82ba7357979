#!/usr/bin/env python3
"""Holds the statistics of package analyze, those of the view asiai in SQL, and
the energies of batches, against numpy and scipy.

Runs the Go side on 600 random inputs and computes each figure anew: quantiles,
spreads, the interval of the median, the rank test, the change with its interval,
Holm's correction and the geometric mean over cases. Then the view summary over
250 cases, asked once with one thread and once with four and its rows in another
order; the view asiai over 300 targets with random runs of random prompt kinds;
300 batches under random readings of counters and of power. A figure may differ
by 1e-12 of the largest value that went into it; NULL must be NULL.
Needs numpy and scipy; run it in the root of the repository.
"""
import json
import subprocess
import sys
import tempfile

import numpy as np
from scipy import stats


def interval(xs):
    """The narrowest interval of order statistics that covers the median."""
    xs, n = np.sort(xs), len(xs)
    for rank in range((n + 1) // 2, 0, -1):
        covers = stats.binom.cdf(n - rank, n, 0.5) - stats.binom.cdf(rank - 1, n, 0.5)
        if covers >= 0.95:
            return xs[rank - 1], xs[n - rank], covers
    return None, None, None


def rank_test(a, b):
    if min(len(a), len(b)) < 4:
        return None, None
    ties = len(set(a + b)) < len(a) + len(b)
    method = "asymptotic" if ties or len(a) * len(b) > 10_000 else "exact"
    if len(set(a + b)) == 1:
        return len(a) * len(b) / 2, 1.0
    r = stats.mannwhitneyu(a, b, alternative="two-sided", method=method)
    return r.statistic, r.pvalue


def orders(n, m):
    """How many orders of n and m numbers have each U, by the Gaussian binomial
    coefficient's polynomial, in integers."""
    counts = [1]
    for i in range(1, n + 1):
        grown = [0] * (len(counts) + m + i)  # times (1 - q^(m+i))
        for k, c in enumerate(counts):
            grown[k] += c
            grown[k + m + i] -= c
        for k in range(i, len(grown)):  # over (1 - q^i)
            grown[k] += grown[k - i]
        counts = grown[: i * m + 1]
    return counts


def shift_rank(n, m):
    """Which of the n m differences bounds the interval, and what it covers."""
    if n * m > 10_000:
        middle, sd = n * m / 2, np.sqrt(n * m * (n + m + 1) / 12)
        k = int(middle)
        while 2 * stats.norm.cdf((k - 0.5 - middle) / sd) > 0.05:
            k -= 1
        return k, 1 - 2 * stats.norm.cdf((k - 0.5 - middle) / sd)
    counts = orders(n, m)
    every, missed, k = sum(counts), 0, 0
    while 2 * (missed + counts[k]) * 20 <= every:
        missed, k = missed + counts[k], k + 1
    return k, 1 - 2 * missed / every


def relative_change(a, b):
    if min(len(a), len(b)) < 4:
        return None, None, None, None
    logs = np.sort(np.subtract.outer(np.log(b), np.log(a)).ravel())
    k, covers = shift_rank(len(a), len(b))
    return np.expm1(np.median(logs)), np.expm1(logs[k - 1]), np.expm1(logs[-k]), covers


def holm(ps):
    """Each p times the number of those at least as high, made monotone."""
    ranked = sorted(i for i, p in enumerate(ps) if p is not None)
    ranked.sort(key=lambda i: ps[i])
    out, highest = [None] * len(ps), 0.0
    for rank, i in enumerate(ranked):
        highest = max(highest, min(1.0, ps[i] * (len(ranked) - rank)))
        out[i] = highest
    return out


def pooled(groups):
    groups = [np.array(g, float) for g in groups]
    every = np.concatenate(groups) if groups else np.array([])
    mean = every.mean() if len(every) else None
    groups = [g for g in groups if len(g) > 1]
    if not groups:
        return None, None, mean, None
    sd = np.sqrt(np.mean([g.var() for g in groups]))
    sample = np.sqrt(sum((len(g) - 1) * g.var(ddof=1) for g in groups) / sum(len(g) - 1 for g in groups))
    return sd, sample, mean, 100 * sd / mean


def expected(case):
    a = np.array(case["A"] or [], float)
    n = len(a)
    out = {"N": n}
    out["Median"] = np.median(a) if n else None
    out["P90"] = np.quantile(a, 0.9) if n >= 10 else None
    out["P99"] = np.quantile(a, 0.99) if n >= 100 else None
    out["Mean"] = a.mean() if n else None
    out["SD"] = a.std(ddof=1) if n > 1 else None
    out["PopSD"] = a.std() if n > 1 else None
    out["CV"] = 100 * a.std() / a.mean() if n > 1 else None
    out["Lo"], out["Hi"], out["Coverage"] = interval(a)
    out["StdDev"], out["SampleSD"], out["PooledMean"], out["PooledCV"] = pooled(case["Groups"] or [])
    out["U"], out["P"] = rank_test(case["A"] or [], case["B"] or [])
    out["Change"], out["From"], out["To"], out["Covered"] = relative_change(case["A"] or [], case["B"] or [])
    changes = [c for c in (relative_change(*sides)[0] for sides in case["Cases"]) if c is not None]
    out["MeanOf"] = len(changes) if len(changes) > 1 else 0
    out["GeometricMean"] = stats.gmean(np.array(changes) + 1) - 1 if len(changes) > 1 else None
    return out


def expected_summary(batches):
    every, points = np.concatenate(batches), [np.median(b) for b in batches]
    n, out = len(every), {"N": len(every)}
    out["Median"], out["Mean"] = np.median(every), every.mean()
    out["SD"] = every.std(ddof=1) if n > 1 else None
    out["P90"] = np.quantile(every, 0.9) if n >= 10 else None
    out["P99"] = np.quantile(every, 0.99) if n >= 100 else None
    out["Lo"], out["Hi"], out["Coverage"] = interval(points)
    out["CV"] = 100 * np.std(points) / np.mean(points) if len(points) > 1 else None
    return out


def stability(cv):
    if cv is None:
        return ""
    return "stable" if cv < 5 else "variable" if cv < 10 else "unstable"


def expected_asiai(case):
    groups = [[x for x in g if x is not None and x > 0] for g in case["Groups"]]
    every = [x for g in groups for x in g]
    out = {"Runs": sum(map(len, case["Groups"])), "Rates": len(every), "Kinds": sum(len(g) > 1 for g in groups)}
    out["Median"] = np.median(every) if every else None
    out["StdDev"], out["SampleSD"], out["Mean"], out["CV"] = pooled(groups)
    return out


def expected_energy(case):
    t, v = np.array(case["T"]), np.array(case["V"])
    a, b = case["From"], case["To"]
    if case["Counter"]:
        points = v - v[0]
        energy = np.interp(b, t, points) - np.interp(a, t, points)
    else:
        points = np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(t))])
        inside = np.concatenate([[a], t[(t > a) & (t < b)], [b]])
        energy = np.trapezoid(np.interp(inside, t, v), inside)
    within = points[(t >= a) & (t <= b)]
    low = within[-1] - within[0]
    high = points[np.searchsorted(t, b)] - points[np.searchsorted(t, a, side="right") - 1]
    return {"J": energy, "Low": low, "High": high, "PerToken": energy / case["Tokens"]}


class Comparison:
    """Counts figures, and those that are off by more than 1e-12 of scale."""

    def __init__(self):
        self.compared, self.bad, self.worst = 0, 0, 0.0

    def hold(self, where, name, got, want, scale):
        off = 0.0 if got is None or want is None else abs(got - want) / scale
        self.compared, self.worst = self.compared + 1, max(self.worst, off)
        if (got is None) != (want is None) or off > 1e-12:
            self.bad += 1
            print(f"{where}, {name}: {got}, expected {want}", file=sys.stderr)


def emitted(package, test):
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        run = ["go", "test", package, "-count=1", "-run", f"^{test}$", "-args", "-emit", f.name]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        return json.load(f)


def main():
    c = Comparison()
    cases = emitted("./analyze", "TestEmitStatistics")
    for i, case in enumerate(cases):
        largest = max([1.0] + [abs(x) for g in [case["A"] or [], *(case["Groups"] or [])] for x in g])
        for name, want in expected(case).items():
            scale = 1.0 if name in ("P", "Coverage", "U", "N", "Covered", "MeanOf") else largest
            if name in ("Change", "From", "To", "GeometricMean") and want is not None:
                scale = 1 + abs(want)
            c.hold(f"input {i}", name, case[name], want, scale)
        for k, want in enumerate(holm([rank_test(*sides)[1] for sides in case["Cases"]])):
            c.hold(f"input {i}", f"Holm of case {k}", case["Holm"][k], want, 1.0)
    summaries = emitted("./analyze/duck", "TestEmitSummary")
    for session, case in summaries.items():
        largest = max(x for b in case["Batches"] for x in b)
        for name, want in expected_summary(case["Batches"]).items():
            for threads in ("Alone", "Many"):
                c.hold(f"summary of {session}, {threads}", name, case[threads][name], want, 1.0 if name in ("N", "Coverage") else largest)
        for threads in ("Alone", "Many"):
            if case[threads]["Stability"] != stability(case[threads]["CV"]):
                c.bad += 1
                print(f"summary of {session}: {case[threads]['Stability']!r} of cv {case[threads]['CV']}", file=sys.stderr)
    targets = emitted("./analyze/duck", "TestEmitAsiai")
    classes = set()
    for session, case in targets.items():
        largest = max([1.0] + [x for g in case["Groups"] for x in g if x is not None])
        for name, want in expected_asiai(case).items():
            c.hold(f"asiai of {session}", name, case[name], want, 1.0 if name in ("Runs", "Rates", "Kinds") else largest)
        classes.add(case["Stability"])
        if case["Stability"] != stability(case["CV"]):
            c.bad += 1
            print(f"asiai of {session}: {case['Stability']!r} of cv {case['CV']}", file=sys.stderr)
    batches = emitted("./analyze/duck", "TestEmitEnergy")
    for i, case in enumerate(batches):
        for name, want in expected_energy(case).items():
            c.hold(f"batch {i}", name, case[name], want, 1e3 * max(case["To"], want))  # stamps are of 1 ns
    if classes != {"", "stable", "variable", "unstable"}:
        sys.exit(f"the targets have only the classes {classes}")
    print(f"{c.compared} figures of {len(cases)} inputs, {len(summaries)} cases, {len(targets)} targets and {len(batches)} batches: {c.bad} differ; largest difference {c.worst:.1e}")
    if c.bad or c.compared < 18000:
        sys.exit(1)


if __name__ == "__main__":
    main()
