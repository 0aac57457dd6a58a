"""`tools/dev perf`, once everything is built: see perf.sh for its usage.

--check   only looks at the arguments, and prints what they need built; --list-rows prints the rows.
"""

import json
import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))  # text_table

import flags  # noqa: E402
import instructions  # noqa: E402
import measure  # noqa: E402
import memory  # noqa: E402
import plots  # noqa: E402
import rows  # noqa: E402
import scale  # noqa: E402
import styles  # noqa: E402
import tables  # noqa: E402

RESULTS = pathlib.Path("build/perf")
PROGRAM = "build/release/bin/winnow_bench"
COUNTS_PROGRAM = "build/release/bin/instruction_counts"
QUICK_NUM = 20_000
# Of each command that measures curves, by default.
SIZES = {"scale": "1000000,3000000,10000000", "styles": "100000,300000,1000000,3000000"}
QUICK_SIZES = "10000,30000"


def list_rows():
    for row in rows.ROWS:
        print(f"  {row.name:<24} {row.title}")
    print("\n  with --large, of ten times --num keys, or by name:\n")
    for row in rows.LARGE_ROWS:
        print(f"  {row.name:<24} {row.title}")


def needed_targets(command, found):
    if command == "instructions":
        return "instruction_counts"
    return "" if "from_json" in found else "winnow_bench"


def kept_report(found):
    """What --from_json names; measures nothing."""
    return json.loads(pathlib.Path(found["from_json"]).read_text(encoding="utf-8"))


def write_file(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def engines_for(found, program):
    """The engines to measure, Winnow first; titles; and a line for each peer that is not there."""
    titles = measure.engines_of(program)
    asked = found.get("engine", ",".join(rows.PEERS)).split(",")
    left_out = [f"{peer} is not in this build (install {rows.PACKAGES[peer]})"
                for peer in asked if peer in rows.PACKAGES and peer not in titles]
    present = [peer for peer in rows.PEERS if peer in asked and peer in titles]
    return ["winnow", *present], titles, left_out


def command_line(found, report):
    """What measures the same again."""
    measured = {row["name"] for row in report["rows"]}
    words = ["tools/dev perf", f"--num={report['num']}", f"--rounds={report['rounds']}"]
    small, large = ({row.name for row in some} for some in (rows.ROWS, rows.LARGE_ROWS))
    if measured == small | large:
        words.append("--large")
    elif measured != small:
        words.append("--rows=" + ",".join(row["name"] for row in report["rows"]))
    return " ".join(words + asked_engines(found))


def asked_engines(found):
    return ["--engine=" + found["engine"]] if "engine" in found else []


def report_before(found, path, num, rounds):
    """What --in_parts has measured until now; None at the first part."""
    if "in_parts" not in found or not path.exists():
        return None
    report = json.loads(path.read_text(encoding="utf-8"))
    if (report["num"], report["rounds"]) != (num, rounds):
        raise measure.RunFailed(
            f"{path} has rows of --num={report['num']} --rounds={report['rounds']}: parts of one "
            "measurement have the same")
    return report


def show_rows(report, found):
    """Prints the table, and writes the files that were asked for."""
    plot = plots.dot_plot("Time an operation takes", report)
    if "plot" in found:
        write_file(found["plot"], plot)
    if "markdown" in found:
        write_file(found["markdown"], tables.markdown(report, found.get("plot")))
    before, after = tables.html_remarks(report,
                                        tables.goal_remarks() + tables.remarks(report))
    write_file(found.get("report", RESULTS / "perf.html"),
               tables.page("tools/dev perf",
                           before + tables.html_table(*tables.cells(report)) + plot + after))
    tables.print_text(report)


def run_rows(found):
    program = found.get("program", PROGRAM)
    is_quick = "quick" in found
    engines, titles, left_out = engines_for(found, program)
    num = QUICK_NUM if is_quick else int(found.get("num", rows.GOALS_ARE_FOR))
    rounds = int(found.get("rounds", 1 if is_quick else 5))
    asked = flags.chosen_rows(found)
    chosen = [row for row in asked if row.subject in titles]
    left_out += [f"{row.title}: {row.subject} is not in this build" for row in asked
                 if row not in chosen]
    if not chosen:
        raise measure.RunFailed(left_out[-1])
    kept = pathlib.Path(found.get("json", RESULTS / "perf.json"))
    before = report_before(found, kept, num, rounds)
    with measure.databases_folder(found.get("db")) as folder:
        bench = measure.Bench(program, folder)
        measured = measure.RowMeasurement(bench, chosen, engines, num, rounds)
        measure.need_disk(folder, measured.disk_bytes())
        interrupted = False
        try:
            measured.run()
        except KeyboardInterrupt:
            interrupted = True  # what there is, is shown
    report = tables.make_report(measured, bench, titles)
    report["left_out"] = left_out
    if before:
        report = tables.joined(before, report)
    report["command"] = command_line(found, report)
    write_file(kept, json.dumps(report, indent=1) + "\n")
    show_rows(report, found)
    return 130 if interrupted else 1 if report["failures"] else 0


def show_curves(command, module, report, found):
    """Prints the table, and writes the files that were asked for."""
    if "plot" in found:
        write_file(found["plot"], plots.line_plots(module.curves_of(report)))
    if "markdown" in found:
        write_file(found["markdown"], module.markdown(report, found.get("plot")))
    write_file(found.get("report", RESULTS / f"{command}.html"), module.html_page(report))
    module.print_text(report)


def run_curves(command, module, found):
    """The same work on more and more keys: `module` says which."""
    if "from_json" in found:
        show_curves(command, module, kept_report(found), found)
        return 0
    program = found.get("program", PROGRAM)
    is_quick = "quick" in found
    engines, titles, left_out = engines_for(
        {"engine": ",".join(rows.PACKAGES), **found}, program)
    sizes = sorted({int(keys) for keys in
                    found.get("keys", QUICK_SIZES if is_quick else SIZES[command]).split(",")})
    rounds = int(found.get("rounds", 1 if is_quick else 3))
    with measure.databases_folder(found.get("db")) as folder:
        measure.need_disk(folder, module.disk_bytes(max(sizes)))
        report = module.run(measure.Bench(program, folder), engines, sizes, rounds, titles)
    report["left_out"] = left_out
    report["command"] = " ".join([f"tools/dev perf {command} --keys={','.join(map(str, sizes))}",
                                  f"--rounds={rounds}", *asked_engines(found)])
    write_file(found.get("json", RESULTS / f"{command}.json"), json.dumps(report, indent=1) + "\n")
    show_curves(command, module, report, found)
    return 130 if report["interrupted"] else 1 if report["failures"] else 0


def run_memory(found):
    program = found.get("program", PROGRAM)
    is_quick = "quick" in found
    engines, _, left_out = engines_for({"engine": "rocksdb", **found}, program)
    engines = [engine for engine in engines if engine in memory.ENGINES]
    keys = 200_000 if is_quick else int(found.get("num", 10_000_000))
    rounds = int(found.get("rounds", 1 if is_quick else 3))
    with measure.databases_folder(found.get("db")) as folder:
        measure.need_disk(folder, memory.disk_bytes(keys))
        report = memory.run(measure.Bench(program, folder), engines, keys, rounds)
    write_file(found.get("json", RESULTS / "memory.json"), json.dumps(report, indent=1) + "\n")
    memory.print_text(report, left_out)
    return 130 if report["interrupted"] else 0


def main(words):
    if words == ["--list-rows"]:
        list_rows()
        return 0
    is_check = words[:1] == ["--check"]
    try:
        command, found = flags.parse(words[1:] if is_check else words)
    except flags.UsageError as error:
        print(f"tools/dev: {error}\nSee: tools/dev perf --help", file=sys.stderr)
        return 2
    if is_check:
        print(needed_targets(command, found))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # databases are removed then too
    try:
        if command == "instructions":
            return instructions.main(found.get("program", COUNTS_PROGRAM), "write" in found)
        if command == "scale":
            return run_curves(command, scale, found)
        if command == "styles":
            return run_curves(command, styles, {"engine": "rocksdb", **found})
        if command == "memory":
            return run_memory(found)
        if "from_json" in found:
            show_rows(kept_report(found), found)
            return 0
        return run_rows(found)
    except KeyboardInterrupt:
        return 130
    except json.JSONDecodeError:
        name = found.get("from_json", found.get("json", RESULTS / "perf.json"))
        print(f"tools/dev: {name} is not what tools/dev perf has written", file=sys.stderr)
        return 1
    except (measure.RunFailed, OSError) as error:
        print(f"tools/dev: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
