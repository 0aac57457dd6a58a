#!/usr/bin/env python3
"""Puts the results of winnow_bench's runs over several filters into one table and one JSON file.

Usage: compare_table.py OUTPUT.json RUN.json…; a run is named by its file: KEYS-SETTING.json.
"""

import json
import pathlib
import statistics
import sys

from text_table import print_table


def runs_of(paths):
    """For each number of keys, the runs by setting."""
    sizes = {}
    for path in map(pathlib.Path, paths):
        keys, setting = path.stem.split("-", 1)
        sizes.setdefault(int(keys), {})[setting] = json.loads(path.read_text(encoding="utf-8"))
    return dict(sorted(sizes.items()))


def results_of(run, contender, benchmark):
    return [
        result
        for result in run["results"]
        if result["engine"] == contender and result["benchmark"] == benchmark
    ]


def median(run, contender, benchmark, value):
    """The median over rounds of `value` of a result; None if some round lacks it."""
    values = [value(result) for result in results_of(run, contender, benchmark)]
    return statistics.median(values) if values and None not in values else None


def micros(result):
    return result["micros_per_op"]


def blocks_per_thousand(result):
    blocks = result["data_blocks_read"]
    return None if blocks is None or not result["ops"] else 1000 * blocks / result["ops"]


# Title, setting of the run, benchmark, value, digits after the point.
COLUMNS = (
    ("load us/key", "load", "fillrandom", micros, 2),
    ("compact s", "load", "compact", lambda result: result["micros_per_op"] / 1e6, 2),
    ("filter KiB", "load", "compact", lambda result: result["filter"]["bytes"] / 1024, 0),
    ("bits/key", "load", "compact", lambda result: result["filter"]["bits_per_key"], 2),
    ("FPR %", "memory-1", "readmissing", lambda result: result["filter"]["fpr"] * 100, 3),
    ("missing us", "memory-1", "readmissing", micros, 3),
    ("missing, 32", "memory-1", "multireadmissing", micros, 3),
    ("present us", "memory-1", "readrandom", micros, 3),
    ("present, 32", "memory-1", "multireadrandom", micros, 3),
    ("missing, 2 thr", "memory-2", "readmissing", micros, 3),
    ("present, 2 thr", "memory-2", "readrandom", micros, 3),
    ("small cache us", "small-cache", "readmissing", micros, 1),
    ("needless/1000", "small-cache", "readmissing", blocks_per_thousand, 2),
)


def rows_of(settings):
    first = next(iter(settings.values()))
    contenders = list(dict.fromkeys(result["engine"] for result in first["results"]))
    rows = []
    for contender in contenders:
        row = {"filter": contender.split("@", 1)[-1]}
        for title, setting, benchmark, value, _ in COLUMNS:
            row[title] = median(settings.get(setting, {"results": []}), contender, benchmark, value)
        rows.append(row)
    return rows


def cells_of(row):
    cells = [row["filter"]]
    for title, _, _, _, digits in COLUMNS:
        cells.append("" if row[title] is None else f"{row[title]:,.{digits}f}")
    return cells


def main(output, *paths):
    tables = []
    for keys, settings in runs_of(paths).items():
        rows = rows_of(settings)
        first = next(iter(settings.values()))
        print(f"\nRocksDB, {keys:,} keys; medians, {next(iter(first['config']['engines'].values()))}")
        titles = ["filter"] + [title for title, *_ in COLUMNS]
        print_table(titles, [cells_of(row) for row in rows], num_left=1)
        tables.append({"num_keys": keys, "rows": rows, "runs": settings})
    print(
        "\nus: microseconds a look-up; 32: per key, in batches of 32; small cache: filters in a "
        "block cache\nfor a quarter of them; needless: data blocks read for 1,000 absent keys."
    )
    text = json.dumps({"tool": "compare", "sizes": tables}, indent=1)
    pathlib.Path(output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
