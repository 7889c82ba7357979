#!/usr/bin/env python3
"""Holds what other engines make of a dataset against what tokwatt query does.

Spark gets the loaders and views of `tokwatt archive sql` and must give every
table and view cell by cell: the same columns of the same types, the same rows
by key, no key twice, and in each cell the same value or NULL. Numbers of type
double may differ by 1e-12 of the larger of the two and must be finite, all
else is equal or wrong. A view that was changed must be found wrong.

DuckDB's own library runs its text too, ClickHouse reads all tables (chdb: it
in this process), and polars, pandas and pyarrow read as docs/scale-out.md says.

Hosts are taken together up to --requests at a time, so that memory does not
grow with the dataset. Needs what scripts/spark.txt lists, and Java 17 or 21.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TOLERANCE = 1e-12

# The columns that tell the rows of a table or view apart, beside host, date and
# session_id. Of those that are not here it is all that are no double and no list.
KEYS = {
    "sessions": [], "segments": ["segment"], "targets": ["target_id"], "cases": ["case_id"],
    "batches": ["batch_id"], "batch_runs": ["batch_id"], "requests": ["request_id"], "runs": ["request_id"], "chunks": ["request_id", "seq"],
    "median_interval": ["n"], "asiai": ["target_id"], "phases": ["batch_id", "rule"],
    "summary": ["target_id", "case_id", "prefix_cache_hit"],
}
# These have no key: each row is somebody's, and no figure in it is computed.
ALL_COLUMNS = {"stat_rows", "batch_figures", "samples"}

# What DESCRIBE says in DuckDB and in Spark.
SPARK_TYPES = {"BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "boolean", "VARCHAR": "string", "VARCHAR[]": "array<string>",
               "DATE": "date", "TIMESTAMP WITH TIME ZONE": "timestamp"}
ARROW_TYPES = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "VARCHAR": pa.string(),
               "VARCHAR[]": pa.list_(pa.string()), "DATE": pa.date32(), "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC")}


class Tokwatt:
    """Asks tokwatt query."""

    def __init__(self, binary, dataset):
        self.binary, self.dataset = binary, dataset

    def sql(self, dialect):
        run = [self.binary, "archive", "sql", "--dialect", dialect, "--json", self.dataset]
        return json.loads(subprocess.check_output(run))["statements"]

    def rows(self, sql):
        return json.loads(subprocess.check_output([self.binary, "query", "--dataset", self.dataset, "--json", sql]))

    def table(self, sql):
        with tempfile.TemporaryDirectory() as d:
            out = os.path.join(d, "out.parquet")
            subprocess.run([self.binary, "query", "--dataset", self.dataset, "--out", out, sql], check=True, stdout=subprocess.DEVNULL)
            return pq.read_table(out, partitioning=None)

    def types(self, relation):
        return {r["column_name"]: r["column_type"] for r in self.rows(f"describe {relation}")}


class Comparison:
    """Counts cells, those that differ, and the largest difference allowed."""

    def __init__(self):
        self.cells, self.same, self.wrong, self.worst, self.where = 0, 0, 0, 0.0, ""

    def fault(self, text, n=1):
        self.wrong += n
        if self.wrong < 200:
            print("  WRONG", text, file=sys.stderr)

    def tables(self, name, want, got, types):
        """want and got have the columns of types, in any order of rows."""
        if want.num_rows != got.num_rows:
            self.fault(f"{name}: {got.num_rows} rows, expected {want.num_rows}", want.num_rows or 1)
            return
        keys = key_of(name, types)
        want, got = (ordered(t, types, keys) for t in (want, got))
        if name not in ALL_COLUMNS:
            for side, t in (("expected", want), ("got", got)):
                distinct = t.group_by(keys).aggregate([]).num_rows
                if distinct != t.num_rows:
                    self.fault(f"{name}, {side}: {distinct} keys {keys} of {t.num_rows} rows")
        for column, kind in types.items():
            self.cells += want.num_rows
            self.column(f"{name}.{column}", want[column].combine_chunks(), got[column].combine_chunks(), kind)

    def column(self, name, want, got, kind):
        if want.null_count != got.null_count or not pc.equal(want.is_null(), got.is_null()).to_pylist() == [True] * len(want):
            self.fault(f"{name}: {got.null_count} NULLs, expected {want.null_count}, or others", len(want))
            return
        if kind != "DOUBLE":
            if want.equals(got):
                self.same += len(want)
                return
            wrong = [(w, g) for w, g in zip(want.to_pylist(), got.to_pylist()) if w != g]
            self.fault(f"{name}: {wrong[0][1]!r}, expected {wrong[0][0]!r}, and {len(wrong) - 1} more", len(wrong))
            return
        w, g = (a.drop_null().to_numpy() for a in (want, got))
        if not (abs(w) < float("inf")).all() or not (abs(g) < float("inf")).all():
            self.fault(f"{name}: not finite")
            return
        off = abs(w - g)
        scale = abs(w).clip(abs(g))
        relative = off[off > 0] / scale[off > 0]
        self.same += len(want) - len(relative)
        if len(relative) and relative.max() > self.worst:
            self.worst, self.where = relative.max(), name
        if (bad := (relative > TOLERANCE).sum()):
            i = off.argmax()
            self.fault(f"{name}: {bad} of {len(w)} numbers, one is {g[i]!r}, expected {w[i]!r}", int(bad))


def key_of(name, types):
    base = [c for c in ("host", "date", "session_id") if c in types]
    if name in ALL_COLUMNS:
        return [c for c, kind in types.items() if kind != "VARCHAR[]"]
    if name in KEYS:
        return base + KEYS[name]
    return [c for c, kind in types.items() if kind not in ("DOUBLE", "VARCHAR[]")]


def ordered(table, types, keys):
    arrays = [table[c].cast(ARROW_TYPES[kind]) for c, kind in types.items()]
    table = pa.table(arrays, names=list(types))
    return table.take(pc.sort_indices(table, sort_keys=[(k, "ascending") for k in keys]))


def groups_of_hosts(tokwatt, most):
    """The hosts in groups of up to so many requests, a host alone if it has more."""
    groups, n = [[]], 0
    for r in tokwatt.rows("select host, count(*) as n from requests group by host order by host"):
        if groups[-1] and n + r["n"] > most:
            groups.append([])
            n = 0
        groups[-1].append(r["host"])
        n += r["n"]
    return groups


def relations(statements):
    """The names that statements make, in order."""
    found = (re.search(r"create or replace temp view (\w+)", s) for s in statements)
    return [m.group(1) for m in found if m]


def select(relation, types, hosts):
    sql = f"select {', '.join(types)} from {relation}"
    if "host" in types and hosts:
        sql += " where host in (" + ", ".join(f"'{h}'" for h in hosts) + ")"
    return sql


def start_spark(memory):
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    return (SparkSession.builder.master("local[2]").appName("tokwatt")
            .config("spark.driver.memory", memory).config("spark.driver.maxResultSize", "0")
            .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR").getOrCreate())


def check_spark(tokwatt, groups, memory, tables_too):
    c, begin = Comparison(), time.time()
    statements = tokwatt.sql("spark")
    spark = start_spark(memory)
    for s in statements:
        spark.sql(s)
    print(f"Spark {spark.version}: session, loaders and views in {time.time() - begin:.1f} s")
    tables = set(tokwatt_tables(statements))
    for name in relations(statements):
        if name in tables and not tables_too:
            continue
        begin, before = time.time(), c.cells
        types = tokwatt.types(name)
        schema = {f.name: f.dataType.simpleString() for f in spark.table(name).schema}
        expected = {n: SPARK_TYPES.get(kind, f"nothing for {kind}") for n, kind in types.items()}
        if schema != expected or (name not in tables and list(schema) != list(expected)):
            c.fault(f"{name}: columns {schema}, expected {expected}")
            continue
        for hosts in groups if "host" in types else [[]]:
            sql = select(name, types, hosts if len(groups) > 1 else [])
            c.tables(name, tokwatt.table(sql), spark.sql(sql).toArrow(), types)
        print(f"  {name:16}{c.cells - before:12,} cells {time.time() - begin:7.1f} s", flush=True)
    check_failing(tokwatt, spark, statements, groups[0])
    spark.stop()
    return c


def tokwatt_tables(statements):
    return relations([s for s in statements if "using parquet" in s])


def check_failing(tokwatt, spark, statements, hosts):
    """A spread of the wrong kind, one digit, and warm-ups instead of runs must be seen."""
    wrong = {"row_figures": ("stddev_samp(prompt_tps)", "stddev_pop(prompt_tps)"), "median_interval": ("0.96875e0", "0.96875000001e0"),
             "runs": ("where not coalesce(r.warmup, false)", "where coalesce(r.warmup, false)")}
    for name, (old, new) in wrong.items():
        text = next(s for s in statements if relations([s]) == [name])
        if old not in text:
            sys.exit(f"{name} has no {old} to be changed")
        spark.sql(text.replace(old, new))
        c, types = Comparison(), tokwatt.types(name)
        c.fault = lambda text, n=1, c=c: setattr(c, "wrong", c.wrong + n)
        sql = select(name, types, hosts)
        c.tables(name, tokwatt.table(sql), spark.sql(sql).toArrow(), types)
        if not c.wrong:
            sys.exit(f"{name} with {new} for {old} gives the same cells: this check finds nothing")
        spark.sql(text)


def check_duckdb(tokwatt, groups):
    import duckdb

    c, con = Comparison(), duckdb.connect()
    statements = tokwatt.sql("duckdb")
    for s in statements:
        con.execute(s)
    for name in relations(statements):
        types = tokwatt.types(name)
        sql = select(name, types, groups[0])
        c.tables(name, tokwatt.table(sql), con.sql(sql).to_arrow_table(), types)
    return c


def check_clickhouse(tokwatt, groups):
    from chdb import session

    c, chdb = Comparison(), session.Session()
    statements = tokwatt.sql("clickhouse")
    for s in statements:
        chdb.query(s)
    ask = lambda sql: pa.ipc.open_file(pa.py_buffer(chdb.query(sql, "Arrow").bytes())).read_all()
    for name in [re.search(r"view (\w+)", s).group(1) for s in statements]:
        types = tokwatt.types(name)
        sql = select(name, types, groups[0])
        c.tables(name, tokwatt.table(sql), ask(sql), types)
    question = ("select r.host, r.date, r.session_id, t.engine, {}(r.ttft_ms) as ttft_ms from requests r join targets t on t.host = r.host and t.date = r.date "
                "and t.session_id = r.session_id where r.in_stats group by r.host, r.date, r.session_id, t.engine")
    types = {"host": "VARCHAR", "date": "DATE", "session_id": "VARCHAR", "engine": "VARCHAR", "ttft_ms": "DOUBLE"}
    c.tables("medians", tokwatt.table(question.format("median")), ask(question.format("quantileExactInclusive(0.5)")), types)
    return c


def check_libraries(tokwatt, root):
    """polars, pandas and pyarrow as docs/scale-out.md has them: names, types, a sum and a median."""
    import pandas as pd
    import polars as pl
    import pyarrow.dataset as ds

    folder = os.path.join(root, "table=requests")
    want = {r["host"]: (r["n"], r["tokens"], r["ttft"]) for r in tokwatt.rows(
        "select host, count(*) as n, sum(tokens_generated) as tokens, median(ttft_ms) as ttft from requests group by host")}
    parts = ds.partitioning(pa.schema([("host", pa.string()), ("date", pa.date32())]), flavor="hive")
    frames = {
        "polars": pl.scan_parquet(folder, hive_schema={"host": pl.String, "date": pl.Date}, missing_columns="insert", extra_columns="ignore")
        .select("host", "date", "tokens_generated", "ttft_ms").collect().to_arrow(),
        "pandas": pa.Table.from_pandas(pd.read_parquet(folder, partitioning=parts, dtype_backend="numpy_nullable")),
        "pyarrow": ds.dataset(folder, partitioning=parts).to_table(),
    }
    for library, t in frames.items():
        got = {}
        for host in pc.unique(t["host"]).to_pylist():
            rows = t.filter(pc.equal(t["host"], host))
            values = rows["ttft_ms"].drop_null().to_numpy()
            got[host] = (rows.num_rows, pc.sum(rows["tokens_generated"]).as_py(), pd.Series(values).median())
        if got.keys() != want.keys() or any(g[:2] != want[h][:2] or abs(g[2] - want[h][2]) > TOLERANCE * want[h][2] for h, g in got.items()):
            sys.exit(f"{library} reads {got}, expected {want}")
        if t.schema.field("date").type != pa.date32():
            sys.exit(f"{library}: date is {t.schema.field('date').type}")
    print(f"{', '.join(frames)}: the same hosts, rows, sums and medians")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tokwatt", required=True, help="the program")
    p.add_argument("--dataset", required=True)
    p.add_argument("--requests", type=int, default=200_000, help="compared at a time")
    p.add_argument("--memory", default="3g", help="Spark's heap")
    p.add_argument("--views", action="store_true", help="Spark's views alone")
    a = p.parse_args()
    tokwatt = Tokwatt(a.tokwatt, os.path.abspath(a.dataset))
    groups = groups_of_hosts(tokwatt, a.requests)
    checks = {"Spark": lambda: check_spark(tokwatt, groups, a.memory, not a.views)}
    if not a.views:
        checks |= {"DuckDB": lambda: check_duckdb(tokwatt, groups), "ClickHouse": lambda: check_clickhouse(tokwatt, groups)}
    wrong = 0
    for engine, check in checks.items():
        begin, c = time.time(), check()
        wrong += c.wrong
        print(f"{engine}: {c.cells:,} cells, {c.same:,} the same, {c.wrong:,} wrong; largest difference {c.worst:.1e} {c.where} ({time.time() - begin:.1f} s)", flush=True)
        if not c.cells:
            sys.exit(f"{engine}: nothing was compared")
    if not a.views:
        check_libraries(tokwatt, tokwatt.dataset)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
