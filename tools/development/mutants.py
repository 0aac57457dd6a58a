"""The table of defects (mutants.txt) and the runs of `tools/dev mutants`.

mutants.py targets|list|run|survivors [--jobs=N] [NAME…]
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import test_entries

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/mutants"
LOGS = BUILD / "mutants"
SURVIVORS = LOGS / "survivors"
MARKER = re.compile(r"\bWINNOW_DEFECT\((\w+)\)")
HEADERS = {"engine/base/planted_defect.h", "filter/planted_defect.h"}
# A test that hangs has noticed something too; the slowest takes a sixth of this.
MOST_SECONDS = 180
EXIT_SURVIVORS = 4

Defect = collections.namedtuple("Defect", "name tests what")
Outcome = collections.namedtuple("Outcome", "defect caught_by seconds")


def read_table(text):
    defects = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, *words = line.split()
        tests = list(itertools.takewhile(lambda word: word.endswith("_test"), words))
        defects.append(Defect(name, tests, " ".join(words[len(tests):])))
    return defects


def markers():
    """How often each name stands in the code."""
    found = collections.Counter()
    for folder in ("engine", "filter"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".h", ".cc") and str(path.relative_to(ROOT)) not in HEADERS:
                found.update(set(MARKER.findall(path.read_text(encoding="utf-8"))))
    return found


def disagreements(defects, found):
    """What is wrong between the table and the code, one text each."""
    named = collections.Counter(defect.name for defect in defects)
    problems = [f"{name} stands in the table {count} times" for name, count in named.items()
                if count > 1]
    problems += [f"{name} is in the table but not in the code" for name in sorted(named)
                 if name not in found]
    problems += [f"{name} is in the code but not in the table" for name in sorted(found)
                 if name not in named]
    problems += [f"{name} is in {count} files" for name, count in sorted(found.items()) if count > 1]
    problems += [f"{defect.name} has no test program" for defect in defects if not defect.tests]
    return problems


def run_test(command, defect, log):
    """True if the command succeeded with the defect planted."""
    environment = dict(os.environ, WINNOW_DEFECT=defect.name, GTEST_FAIL_FAST="1", GTEST_COLOR="no")
    with open(log, "ab") as output:
        output.write(f"== {' '.join(command)}\n".encode())
        output.flush()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(MOST_SECONDS) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False


def try_expected(defect):
    started = time.monotonic()
    log = LOGS / f"{defect.name}.log"
    log.unlink(missing_ok=True)
    commands = test_entries.commands(BUILD)
    caught_by = next((test for test in defect.tests
                      if not run_test(commands[test], defect, log)), None)
    return Outcome(defect, caught_by, time.monotonic() - started)


def try_suite(defect):
    started = time.monotonic()
    log = LOGS / f"{defect.name}.log"
    command = ["ctest", "--test-dir", str(BUILD), "--stop-on-failure", "--timeout",
               str(MOST_SECONDS)]
    if run_test(command, defect, log):
        return Outcome(defect, None, time.monotonic() - started)
    failed = re.findall(r"^\s*\d+ - (\w+) \(", log.read_text(errors="replace"), re.MULTILINE)
    return Outcome(defect, f"{failed[-1] if failed else 'the suite'} (not expected)",
                   time.monotonic() - started)


def run_all(defects, attempt, jobs):
    """Prints a line for each defect as it is done, and the sums; returns the survivors."""
    LOGS.mkdir(parents=True, exist_ok=True)
    survivors, started, done = [], time.monotonic(), 0
    print(f"{'defect':<36} {'caught by':<34} seconds")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in concurrent.futures.as_completed(
                [pool.submit(attempt, defect) for defect in defects]):
            outcome = future.result()
            done += 1
            print(f"{outcome.defect.name:<36} {outcome.caught_by or 'SURVIVED':<34} "
                  f"{outcome.seconds:7.1f}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{done}/{len(defects)}\r", end="", file=sys.stderr, flush=True)
            if outcome.caught_by is None:
                survivors.append(outcome.defect)
    print(f"{len(defects)} defects planted, {len(defects) - len(survivors)} caught, "
          f"{len(survivors)} survived, {time.monotonic() - started:.0f} s")
    return survivors


def failing_without_defect(tests, jobs):
    """What fails without any defect catches nothing."""
    LOGS.mkdir(parents=True, exist_ok=True)
    nothing = Defect("none", [], "")
    (LOGS / "none.log").unlink(missing_ok=True)
    commands = test_entries.commands(BUILD)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        passed = pool.map(lambda test: run_test(commands[test], nothing, LOGS / "none.log"), tests)
        return [test for test, ok in zip(tests, passed) if not ok]


def main():
    parser = argparse.ArgumentParser(prog="tools/dev mutants")
    parser.add_argument("action", choices=("targets", "list", "run", "survivors"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    table = read_table((ROOT / "tools/development/mutants.txt").read_text(encoding="utf-8"))
    problems = disagreements(table, markers())
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 2
    defects = [defect for defect in table
               if not options.names or any(name in defect.name for name in options.names)]
    if not defects:
        print(f"no defect has {' or '.join(options.names)} in its name; see tools/dev mutants --list",
              file=sys.stderr)
        return 2
    tests = sorted({test for defect in defects for test in defect.tests})
    if options.action == "targets":
        programs = test_entries.programs(BUILD)
        print("\n".join(sorted({programs[test] for test in tests})))
        return 0
    if options.action == "list":
        for defect in defects:
            print(f"{defect.name:<36} {' '.join(defect.tests):<40} {defect.what}")
        return 0
    if options.action == "survivors":
        names = SURVIVORS.read_text(encoding="utf-8").split()
        return 1 if run_all([d for d in table if d.name in names], try_suite, 1) else 0
    broken = failing_without_defect(tests, options.jobs)
    if broken:
        print(f"these fail with no defect planted: {' '.join(broken)}; see {LOGS}/none.log",
              file=sys.stderr)
        return 1
    survivors = run_all(defects, try_expected, options.jobs)
    SURVIVORS.write_text("".join(f"{defect.name}\n" for defect in survivors), encoding="utf-8")
    return EXIT_SURVIVORS if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
