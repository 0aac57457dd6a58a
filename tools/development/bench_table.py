"""The table and the sentence that `tools/dev bench` ends with.

bench_table.py ROUND_TRIP_JSON WINNOW_BENCH_JSON
"""

import json
import statistics
import sys

from text_table import print_table

COLUMNS = ("job", "engine", "operations", "ops/s", "micros/op", "found", "rejected by filters",
           "measured FPR", "promised FPR", "against rocksdb")
BENCHMARKS = ("fillrandom", "readrandom", "readmissing")


def count(number):
    return f"{number:,.0f}"


def percent(share):
    return f"{share:.2%}"


def measured_fpr(filters):
    """False positives among the look-ups, file by file, of keys that the file does not hold."""
    asked_in_vain = (filters.get("rejected") or 0) + (filters.get("false_positive") or 0)
    return (filters.get("false_positive") or 0) / asked_in_vain if asked_in_vain else None


def round_trip_rows(report):
    for phase in report["phases"]:
        seconds = max(phase["seconds"], 1e-9)
        operations = phase["operations"]
        filters = phase["filters"]
        row = {"job": f"real input, {phase['name']}", "engine": "winnow",
               "operations": count(operations), "ops/s": count(operations / seconds),
               "micros/op": f"{seconds * 1e6 / max(1, operations):.2f}",
               "found": count(phase["found"]) if phase["name"] != "load" else ""}
        if filters["checked"]:
            row["rejected by filters"] = count(filters["rejected"])
            fpr = measured_fpr(filters)
            if fpr is not None:
                row["measured FPR"] = percent(fpr)
                row["promised FPR"] = percent(filters["promised_fpr"])
        yield row


def medians(results, benchmark, engine, field):
    values = [result[field] for result in results
              if result["benchmark"] == benchmark and result["engine"] == engine]
    return statistics.median(values) if values else None


def synthetic_rows(report):
    results = report["results"]
    engines = list(dict.fromkeys(result["engine"] for result in results))
    for benchmark in BENCHMARKS:
        peer_rate = medians(results, benchmark, "rocksdb", "ops_per_sec")
        for engine in engines:
            rate = medians(results, benchmark, engine, "ops_per_sec")
            if rate is None:
                continue
            example = next(result for result in results
                           if result["benchmark"] == benchmark and result["engine"] == engine)
            row = {"job": f"synthetic, {benchmark}", "engine": engine,
                   "operations": count(example["ops"]), "ops/s": count(rate),
                   "micros/op": f"{medians(results, benchmark, engine, 'micros_per_op'):.2f}"}
            if benchmark != "fillrandom":
                row["found"] = count(example["found"] or 0)
            filters = example.get("filter") or {}
            if filters.get("checked"):
                row["rejected by filters"] = count(filters["rejected"])
                fpr = measured_fpr(filters)
                if fpr is not None:
                    row["measured FPR"] = percent(fpr)
                    row["promised FPR"] = percent(filters["promised_fpr"] or 0)
            if peer_rate:
                row["against rocksdb"] = f"{rate / peer_rate:.2f} x"
            yield row


def sentence(report):
    absent = next(phase for phase in report["phases"] if phase["name"] == "absent keys")
    filters = absent["filters"]
    fpr = measured_fpr(filters)
    if fpr is None:
        return "The filters were never asked."
    return (f"Of {count(absent['operations'])} look-ups of keys that are not there, the filters "
            f"ended {count(filters['rejected'])} of {count(filters['checked'])} searches of a file, "
            f"each before a data block was read, at {report['filter_bits_per_key']:.1f} bits per "
            f"key; {count(absent['data_blocks_read'])} data blocks were read. False-positive rate: "
            f"{percent(fpr)} measured, {percent(filters['promised_fpr'])} promised.")


def main():
    reports = []
    for path in sys.argv[1:3]:
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
    round_trip, synthetic = reports
    print(f"\nReal input: {count(round_trip['records'])} records, "
          f"{round_trip['record_bytes'] / 1e6:.1f} MB; every one came back as it was written, and "
          f"no absent key was found.\n")
    rows = list(round_trip_rows(round_trip)) + list(synthetic_rows(synthetic))
    print_table(COLUMNS, [[row.get(name, "") for name in COLUMNS] for row in rows], num_left=2)
    print("\n" + sentence(round_trip))


if __name__ == "__main__":
    main()
