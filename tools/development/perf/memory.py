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
# Of the same look-ups before they are measured: Winnow compacts what is read in vain, and makes
# filters anew for what is asked of which level, a file at a time, as it would all along. Not in runs
# that are small for a look at the table.
SETTLING_SECONDS = 90
FEWEST_TO_SETTLE = 1_000_000
BATCH = 32
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


def flags_of_reads(engine, place, keys, share):
    return (f"--num={keys}", f"--db={place}", f"--filter={FILTERS[engine]}", "--use_existing_db",
            f"--cache_size={budget_bytes(keys, CACHE_SHARE)}",
            f"--filter_memory_budget={budget_bytes(keys, share)}")


def settle(bench, engine, place, keys, share):
    if keys < FEWEST_TO_SETTLE:
        return
    bench.run(engine, ("readmissing",), (*flags_of_reads(engine, place, keys, share),
                                         f"--duration={SETTLING_SECONDS}"))


def measure_once(bench, engine, place, keys, share, round_number):
    """Reads from files for each look-up, of filters as well as of data, and microseconds, one by
    one and in batches."""
    reads = max(100, min(keys, 1_000_000))
    measured = bench.run(engine, ("readmissing", "multireadmissing"), (
        *flags_of_reads(engine, place, keys, share), f"--seed={round_number}", f"--reads={reads}",
        f"--batch_size={BATCH}", "--warmup=1"))
    single = measured["readmissing"]
    return {"reads_in_vain": single["read_ops"] / reads, "micros": single["micros_per_op"],
            "micros_in_batches": measured["multireadmissing"]["micros_per_op"]}


def run(bench, engines, keys, rounds):
    """The report: a line for each budget, with the medians of its rounds."""
    places = {engine: bench.folder / f"memory-{engine}" for engine in engines}
    loads = sum(len(SHARES) if engine == "winnow" else 1 for engine in engines)
    progress = measure.Progress(loads + len(engines) * (rounds + 1) * len(SHARES))
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
                progress.show(f"{engine}: {share} of full, settling")
                settle(bench, engine, places[engine], keys, share)
                measured = []
                for round_number in range(1, rounds + 1):
                    progress.show(f"{engine}: {share} of full")
                    measured.append(measure_once(bench, engine, places[engine], keys, share,
                                                 round_number))
                line["engines"][engine] = {
                    name: statistics.median(found[name] for found in measured)
                    for name in measured[0]}
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


def times(micros, of_winnow):
    """How long, and how many times Winnow's time: nothing of its own."""
    return f"{micros:.3f}" if of_winnow is None else f"{micros:.3f} ({micros / of_winnow:.1f}x)"


def print_text(report, left_out):
    titles = ["memory for filters"]
    for engine in report["lines"][0]["engines"]:
        titles += [f"{engine}: reads in vain", "us", f"us, {BATCH} at once"]
    cells = []
    for line in report["lines"]:
        row = [f"{line['share']} of {FULL_BITS} bits a key"]
        own = line["engines"].get("winnow", {})
        for engine, found in line["engines"].items():
            row.append(f"{found['reads_in_vain']:.4f}")
            row += [times(found[name], None if engine == "winnow" else own.get(name))
                    for name in ("micros", "micros_in_batches")]
        cells.append(row)
    print(f"A look-up of an absent key, of {report['num']:,} keys; medians of {report['rounds']} "
          "rounds; in brackets, how many times Winnow's\n")
    text_table.print_table(titles, cells, 1)
    for line in left_out:
        print(line)
