"""Styles of compaction beside each other: what they write, what they keep, what absent keys cost.

Memtables and files are small, so that a tree has as many levels as a large database's: with N keys
of 116 bytes the last level holds N / 2300 times what level 0 does when it is full.
"""

import shutil
import statistics

import measure
import plots
import rows
import tables

ENTRY_BYTES = rows.KEY_BYTES + 100
# Name, engine and winnow_bench's name of the style.
STYLES = (
    ("winnow leveled", "winnow", "leveled"),
    ("winnow lazy_leveled", "winnow", "lazy_leveled"),
    ("winnow tiered", "winnow", "tiered"),
    ("rocksdb leveled", "rocksdb", "leveled"),
    ("rocksdb universal", "rocksdb", "tiered"),
)
SMALL_TREE = ("--write_buffer_size=64K", "--target_file_size=64K", "--cache_size=8M")
AUTO = "--filter=auto:10,rocksdb.bloom:10"
# Name, title, unit, and whether it has a curve.
COLUMNS = (
    ("fill", "fillrandom, compactions included", "us a key", False),
    ("fill_volume", "bytes written a byte, fillrandom", "x", True),
    ("volume", "bytes written a byte, each key once more", "x", True),
    ("space", "space at its end", "x", True),
    ("missing", "readmissing", "us", True),
    ("needless", "needless reads of 1000 absent keys", "", True),
)


def disk_bytes(keys):
    return 4 * ENTRY_BYTES * keys


def measure_once(bench, engine, style, keys, round_number):
    """One round of one style: every value by name."""
    place = bench.folder / "styles"
    reads = max(1000, min(keys, 1_000_000))
    flags = (f"--num={keys}", f"--reads={reads}", f"--db={place}", f"--seed={round_number}",
             f"--compaction={style}", AUTO, *SMALL_TREE)
    try:
        fill = bench.run(engine, ("fillrandom", "waitforcompaction"), flags)
        # The first opening has counted what it wrote for a byte; this one counts its own.
        again = bench.run(engine, ("overwrite", "waitforcompaction", "readmissing"),
                          (*flags, "--use_existing_db"))
        # RocksDB counts only where that is asked for, and is slower then.
        counted = bench.run(engine, ("readmissing",),
                            (*flags, "--use_existing_db", "--statistics"))["readmissing"]
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return {
        "fill": (fill["fillrandom"]["micros_per_op"] * keys
                 + fill["waitforcompaction"]["micros_per_op"]) / keys,
        "fill_volume": fill["waitforcompaction"]["write_amplification"],
        "volume": again["waitforcompaction"]["write_amplification"],
        "space": again["waitforcompaction"]["space_bytes"] / (ENTRY_BYTES * keys),
        "missing": again["readmissing"]["micros_per_op"],
        "needless": 1000 * counted["filter"]["false_positive"] / counted["ops"],
    }


def run(bench, engines, sizes, rounds, titles):
    """The report: of each size and style the rounds of every value."""
    chosen = [style for style in STYLES if style[1] in engines]
    progress = measure.Progress(len(sizes) * rounds * len(chosen))
    found = {}
    failures = {}
    interrupted = False
    try:
        for keys in sizes:
            for round_number in range(1, rounds + 1):
                for name, engine, style in chosen:
                    progress.show(f"{keys:,} keys, round {round_number} of {rounds}, {name}")
                    if name in failures:
                        continue
                    try:
                        values = measure_once(bench, engine, style, keys, round_number)
                    except measure.RunFailed as failure:
                        failures[name] = f"{name}, {keys} keys: {failure}"
                        continue
                    for column, value in values.items():
                        curve = found.setdefault(column, {}).setdefault(name, {})
                        curve.setdefault(keys, []).append(value)
    except KeyboardInterrupt:
        interrupted = True  # what there is, is shown
    finally:
        progress.clear()
    curves = {column: {name: [{"keys": keys, "median": statistics.median(values), "rounds": values}
                              for keys, values in points.items()]
                       for name, points in by_style.items()}
              for column, by_style in found.items()}
    return {"tool": "perf styles", "num": max(sizes), "sizes": sizes, "rounds": rounds,
            "machine": bench.machine, "engines": {name: titles[name] for name in engines},
            "durability": {}, "failures": list(failures.values()), "curves": curves,
            "interrupted": interrupted}


def lines_of(report):
    """A line for each size and style, a column for each value."""
    lines = []
    for keys in report["sizes"]:
        for name, engine, _ in STYLES:
            by_column = {column: next((point["median"] for point in by_style.get(name, ())
                                       if point["keys"] == keys), None)
                         for column, by_style in report["curves"].items()}
            if any(value is not None for value in by_column.values()):
                star = tables.mark(report, engine).removeprefix(engine)
                lines.append([f"{keys:,}", name + star,
                              *(tables.number(by_column.get(column[0])) for column in COLUMNS)])
    titles = ["keys", "style", *(f"{title}, {unit}" if unit else title
                                 for _, title, unit, _ in COLUMNS)]
    return titles, lines


def remarks(report):
    return ["x: for each byte of keys and values given. Filters of 10 bits a key, for Winnow's last "
            "level ribbon or binary_fuse (auto:10). Less is better.", *tables.contenders(report)]


def print_text(report):
    print(f"\n{tables.size_text(report).replace('keys', 'keys at most', 1)}, memtables and files of "
          f"64 KiB\n{tables.machine_text(report)}\n")
    tables.print_table(*lines_of(report), num_left=2)
    print()
    print("\n".join(remarks(report)))


def curves_of(report):
    """Title, unit and each style's points, of every column that has a curve."""
    return [(title, unit, plots.points_of(report["curves"].get(column, {})))
            for column, title, unit, has_curve in COLUMNS if has_curve]


def markdown(report, plot):
    """A section of a README: a table and a plot, with their command and machine."""
    return tables.curves_markdown(report, *lines_of(report), num_left=2, plot=plot)


def html_page(report):
    before, after = tables.html_remarks(report, remarks(report))
    body = before + tables.html_table(*lines_of(report))
    for title, unit, curves in curves_of(report):
        body += plots.line_plot(title, "keys", unit, curves)
    return tables.page("tools/dev perf styles", body + after)
