"""Absent keys with less and less memory for filters: reads in vain and time, Winnow with a budget
beside RocksDB with partitioned filters in its block cache, both in the same memory."""

import fractions
import shutil
import statistics

import measure
import rows
import text_table

ENTRY_BYTES = rows.KEY_BYTES + 100
FULL_BITS = 10
SHARES = tuple(fractions.Fraction(1, over) for over in (8, 4, 3, 2)) + (
    fractions.Fraction(3, 4), fractions.Fraction(1))
# For blocks of data, of which absent keys need none: next to nothing, as RocksDB would use it for
# filters, and the same for every budget.
CACHE_SHARE = fractions.Fraction(1, 16)
ENGINES = ("winnow", "rocksdb")
# As they come, but for the kind that README advises where memory is short.
FILTERS = {"winnow": "ribbon", "rocksdb": "rocksdb.bloom:10"}


def disk_bytes(keys):
    return len(ENGINES) * (measure.DISK_SHARE + measure.LOAD_SHARE) * ENTRY_BYTES * keys


def budget_bytes(keys, share):
    return max(64 << 10, int(keys * FULL_BITS // 8 * share))


def load(bench, engine, place, keys, share):
    bench.run(engine, ("fillrandom", "waitforcompaction"), (
        f"--num={keys}", f"--db={place}", f"--filter={FILTERS[engine]}", "--cache_size=32M",
        f"--filter_memory_budget={budget_bytes(keys, share)}"))


def measure_once(bench, engine, place, keys, share, round_number):
    """Reads from files for each look-up, of filters as well as of data, and microseconds."""
    reads = max(100, min(keys, 1_000_000))
    flags = (f"--num={keys}", f"--db={place}", f"--filter={FILTERS[engine]}",
             f"--seed={round_number}", f"--reads={reads}", "--use_existing_db",
             f"--cache_size={budget_bytes(keys, CACHE_SHARE)}",
             f"--filter_memory_budget={budget_bytes(keys, share)}", "--warmup=1")
    measured = bench.run(engine, ("readmissing",), flags)["readmissing"]
    return measured["read_ops"] / reads, measured["micros_per_op"]


def run(bench, engines, keys, rounds):
    """The report: a line for each budget, with the medians of its rounds."""
    places = {engine: bench.folder / f"memory-{engine}" for engine in engines}
    loads = sum(len(SHARES) if engine == "winnow" else 1 for engine in engines)
    progress = measure.Progress(loads + len(engines) * rounds * len(SHARES))
    lines = []
    interrupted = False
    try:
        for share in SHARES:
            line = {"share": str(share), "engines": {}}
            for engine in engines:
                # Winnow writes what fits; a peer's tables do not depend on its cache.
                if engine == "winnow" or not lines:
                    progress.show(f"{engine}: {keys:,} keys, {share} of full")
                    load(bench, engine, places[engine], keys, share)
                measured = []
                for round_number in range(1, rounds + 1):
                    progress.show(f"{engine}: {share} of full")
                    measured.append(measure_once(bench, engine, places[engine], keys, share,
                                                 round_number))
                line["engines"][engine] = {
                    "reads_in_vain": statistics.median(reads for reads, _ in measured),
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
        row = [f"{line['share']} of {FULL_BITS} bits a key"]
        for found in line["engines"].values():
            row += [f"{found['reads_in_vain']:.4f}", f"{found['micros']:.3f}"]
        cells.append(row)
    print(f"A look-up of an absent key, of {report['num']:,} keys; medians of {report['rounds']} "
          "rounds\n")
    text_table.print_table(titles, cells, 1)
    for line in left_out:
        print(line)
