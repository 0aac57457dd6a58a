"""The same work on more and more keys: load, memory, opening, absent and present keys."""

import shutil
import statistics

import measure
import plots
import rows
import tables

ENTRY_BYTES = rows.KEY_BYTES + 100
# Name, title and unit of what is measured at each size.
CURVES = (
    ("load", "load, compactions included", "us a key"),
    ("absent", "readmissing, 1 GiB cache", "us a key"),
    ("present", "readrandom, 1 GiB cache", "us a key"),
    ("memory", "memory after opening, 8 MiB cache", "MiB"),
    ("memory_per_gb", "the same for each GB of data", "MiB a GB"),
    ("open", "opening, files in the page cache", "ms"),
)


def disk_bytes(keys):
    return (measure.DISK_SHARE + measure.LOAD_SHARE) * ENTRY_BYTES * keys


def measure_once(bench, engine, keys, round_number):
    """One round: every value by name."""
    place = bench.folder / "scale"
    size = (f"--num={keys}", f"--db={place}", f"--seed={round_number}")
    reads = f"--reads={max(100, min(keys // 5, 1_000_000))}"
    try:
        load = bench.run(engine, ("fillrandom", "waitforcompaction"), (*size, "--cache_size=32M"))
        # The filters and indexes of every file, and a cache that hardly counts.
        opened = bench.run(engine, ("readmissing",),
                           (*size, reads, "--use_existing_db", "--cache_size=8M"))["readmissing"]
        read = bench.run(engine, ("readmissing", "readrandom"),
                         (*size, reads, "--use_existing_db", "--cache_size=1G", "--warmup=1"))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    memory = opened["peak_rss_bytes"] / 2**20
    return {
        "load": (load["fillrandom"]["micros_per_op"] * keys
                 + load["waitforcompaction"]["micros_per_op"]) / keys,
        "absent": read["readmissing"]["micros_per_op"],
        "present": read["readrandom"]["micros_per_op"],
        "memory": memory,
        "memory_per_gb": memory / (keys * ENTRY_BYTES / 1e9),
        "open": opened["open_us"] / 1000,
    }


def run(bench, engines, sizes, rounds, titles):
    """The report: of each size and engine the rounds of every value."""
    progress = measure.Progress(len(sizes) * rounds * len(engines))
    found = {}
    failures = {}
    interrupted = False
    try:
        for keys in sizes:
            for round_number in range(1, rounds + 1):
                for engine in engines:
                    progress.show(f"{keys:,} keys, round {round_number} of {rounds}, {engine}")
                    if engine in failures:
                        continue
                    try:
                        values = measure_once(bench, engine, keys, round_number)
                    except measure.RunFailed as failure:
                        failures[engine] = f"{engine}, {keys} keys: {failure}"
                        continue
                    for name, value in values.items():
                        curve = found.setdefault(name, {}).setdefault(engine, {})
                        curve.setdefault(keys, []).append(value)
    except KeyboardInterrupt:
        interrupted = True  # what there is, is shown
    finally:
        progress.clear()
    curves = {name: {engine: [{"keys": keys, "median": statistics.median(values), "rounds": values}
                              for keys, values in points.items()]
                     for engine, points in by_engine.items()}
              for name, by_engine in found.items()}
    return {"tool": "perf scale", "num": max(sizes), "sizes": sizes, "rounds": rounds,
            "machine": bench.machine, "engines": {name: titles[name] for name in engines},
            "durability": {}, "failures": list(failures.values()), "curves": curves,
            "interrupted": interrupted}


def lines_of(report):
    """A line for each value and engine, a column for each size."""
    lines = []
    for name, title, unit in CURVES:
        for engine, points in report["curves"].get(name, {}).items():
            by_keys = {point["keys"]: point["median"] for point in points}
            lines.append([title, unit, tables.mark(report, engine),
                          *(tables.number(by_keys.get(keys)) for keys in report["sizes"])])
    return ["", "unit", "engine", *(f"{keys:,}" for keys in report["sizes"])], lines


def print_text(report):
    print(f"\n{tables.size_text(report).replace('keys', 'keys at most', 1)}\n"
          f"{tables.machine_text(report)}\n")
    tables.print_table(*lines_of(report), num_left=3)
    print()
    print("\n".join(tables.contenders(report)))


def curves_of(report):
    """Title, unit and each engine's points, of every curve."""
    return [(title, unit, plots.points_of(report["curves"].get(name, {})))
            for name, title, unit in CURVES]


def markdown(report, plot):
    """A section of a README: a table and a plot, with their command and machine."""
    return tables.curves_markdown(report, *lines_of(report), num_left=3, plot=plot)


def html_page(report):
    before, after = tables.html_remarks(report, tables.contenders(report))
    body = before + tables.html_table(*lines_of(report))
    for title, unit, curves in curves_of(report):
        body += plots.line_plot(title, "keys", unit, curves)
    return tables.page("tools/dev perf scale", body + after)
