"""Absent keys with less and less memory for filters: needless reads and time, Winnow with a budget
beside RocksDB with partitioned filters in its block cache, both in the same memory."""

import shutil
import statistics

import measure
import rows
import text_table

ENTRY_BYTES = rows.KEY_BYTES + 100
FULL_BITS = 10
EIGHTHS = (1, 2, 3, 4, 6, 8)
# Blocks of data, of which absent keys need none: the same for every budget.
CACHE_BYTES = 8 << 20
ENGINES = ("winnow", "rocksdb")


def disk_bytes(keys):
    return len(ENGINES) * (measure.DISK_SHARE + measure.LOAD_SHARE) * ENTRY_BYTES * keys


def budget_bytes(keys, eighths):
    return max(64 << 10, keys * FULL_BITS // 8 * eighths // 8)


def load(bench, engine, place, keys, eighths):
    bench.run(engine, ("fillrandom", "waitforcompaction"), (
        f"--num={keys}", f"--db={place}", "--cache_size=32M",
        f"--filter_memory_budget={budget_bytes(keys, eighths)}"))


def measure_once(bench, engine, place, keys, eighths, round_number):
    """Reads in vain for each look-up, and microseconds. Blocks that were read, and not what filters
    let through: a table whose filter is not in memory has let through everything."""
    budget = budget_bytes(keys, eighths)
    reads = max(100, min(keys, 1_000_000))
    flags = (f"--num={keys}", f"--db={place}", f"--seed={round_number}", f"--reads={reads}",
             "--use_existing_db", f"--cache_size={CACHE_BYTES}", f"--filter_memory_budget={budget}",
             "--warmup=1")
    timed = bench.run(engine, ("readmissing",), flags)["readmissing"]
    # RocksDB counts only where that is asked for, and is slower then.
    counted = bench.run(engine, ("readmissing",), (*flags, "--statistics"))["readmissing"]
    return counted["data_blocks_read"] / reads, timed["micros_per_op"]


def run(bench, engines, keys, rounds):
    """The report: a line for each budget, with the medians of its rounds."""
    places = {engine: bench.folder / f"memory-{engine}" for engine in engines}
    loads = sum(len(EIGHTHS) if engine == "winnow" else 1 for engine in engines)
    progress = measure.Progress(loads + len(engines) * rounds * len(EIGHTHS))
    lines = []
    interrupted = False
    try:
        for eighths in EIGHTHS:
            line = {"eighths": eighths, "engines": {}}
            for engine in engines:
                # Winnow writes what fits; a peer's tables do not depend on its cache.
                if engine == "winnow" or not lines:
                    progress.show(f"{engine}: {keys:,} keys, {eighths}/8 of full")
                    load(bench, engine, places[engine], keys, eighths)
                measured = []
                for round_number in range(1, rounds + 1):
                    progress.show(f"{engine}: {eighths}/8 of full")
                    measured.append(measure_once(bench, engine, places[engine], keys, eighths,
                                                 round_number))
                line["engines"][engine] = {
                    "needless_reads": statistics.median(reads for reads, _ in measured),
                    "micros": statistics.median(micros for _, micros in measured)}
            lines.append(line)
    except KeyboardInterrupt:
        if not lines:
            raise
        interrupted = True  # the budgets that are through are shown
    finally:
        progress.clear()
        for place in places.values():
            shutil.rmtree(place, ignore_errors=True)
    return {"tool": "perf memory", "num": keys, "rounds": rounds, "machine": bench.machine,
            "lines": lines, "interrupted": interrupted}


def print_text(report, left_out):
    titles = ["memory for filters"]
    for engine in report["lines"][0]["engines"]:
        titles += [f"{engine}: reads in vain", "us"]
    cells = []
    for line in report["lines"]:
        row = [f"{line['eighths']}/8 of {FULL_BITS} bits a key"]
        for found in line["engines"].values():
            row += [f"{found['needless_reads']:.4f}", f"{found['micros']:.3f}"]
        cells.append(row)
    print(f"A look-up of an absent key, of {report['num']:,} keys; medians of {report['rounds']} "
          "rounds\n")
    text_table.print_table(titles, cells, 1)
    for line in left_out:
        print(line)
