#!/usr/bin/env python3
"""Holds the statistics of package analyze against numpy and scipy.

Runs the Go side on 600 random inputs and computes each figure anew. A figure
may differ by 1e-12 of the largest value that went into it; NULL must be NULL.
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
    return out


def main():
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        run = ["go", "test", "./analyze", "-count=1", "-run", "^TestEmitStatistics$", "-args", "-emit", f.name]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        cases = json.load(f)
    compared, bad, worst = 0, 0, 0.0
    for i, case in enumerate(cases):
        largest = max([1.0] + [abs(x) for g in [case["A"] or [], *(case["Groups"] or [])] for x in g])
        for name, want in expected(case).items():
            got = case[name]
            scale = 1.0 if name in ("P", "Coverage", "U", "N") else largest
            off = 0.0 if got is None or want is None else abs(got - want) / scale
            compared, worst = compared + 1, max(worst, off)
            if (got is None) != (want is None) or off > 1e-12:
                bad += 1
                print(f"input {i}, {name}: {got}, expected {want}", file=sys.stderr)
    print(f"{compared} figures of {len(cases)} inputs: {bad} differ; largest difference {worst:.1e}")
    if bad or compared < 5000:
        sys.exit(1)


if __name__ == "__main__":
    main()
