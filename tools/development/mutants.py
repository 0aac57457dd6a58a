"""The command `tools/dev mutants`: mutant_patch.py says what a mutant is, mutant_run.py how it is tried.

mutants.py check|list|targets|run [--jobs=N] [NAME…]
"""

import argparse
import collections
import concurrent.futures
import os
import sys
import time

import mutant_patch
import mutant_run


def failing_without_mutant(build, tests, pool):
    """What fails without any mutant catches nothing."""
    passed = pool.map(lambda test: mutant_run.passes_without_mutant(build, test), tests)
    return [test for test, ok in zip(tests, passed) if not ok]


def verdict(outcome):
    if outcome.problem:
        return f"ERROR: {outcome.problem}"
    return f"caught by {outcome.caught_by}" if outcome.caught_by else "SURVIVED"


def print_sums(outcomes, seconds):
    by_test = collections.defaultdict(list)
    for outcome in outcomes:
        by_test[outcome.caught_by or "(not caught)"].append(outcome.seconds)
    print(f"\n{'caught by':<36} {'mutants':>7} {'seconds':>8}")
    for test, times in sorted(by_test.items()):
        print(f"{test:<36} {len(times):7} {sum(times):8.1f}")
    failed = [outcome for outcome in outcomes if not outcome.caught_by]
    print(f"{len(outcomes)} mutants, {len(outcomes) - len(failed)} caught, {seconds:.0f} s")
    for outcome in failed:
        log = os.path.relpath(mutant_run.log_of(outcome.mutant), mutant_patch.ROOT)
        print(f"{outcome.mutant.name}: {outcome.problem or 'survived'}; see {log}")
    return not failed


def try_all(build, mutants, pool):
    """Prints a line for each mutant as it is done; returns the outcomes."""
    outcomes = []
    attempts = [pool.submit(mutant_run.attempt, build, mutant) for mutant in mutants]
    try:
        for future in concurrent.futures.as_completed(attempts):
            outcome = future.result()
            outcomes.append(outcome)
            print(f"[{len(outcomes):2}/{len(mutants)}] {outcome.mutant.name:<44} "
                  f"{verdict(outcome):<38} {outcome.seconds:6.1f} s", flush=True)
    except BaseException:  # an interrupt from the keyboard: do not begin with the others
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    return outcomes


def run_all(mutants, jobs):
    """True if all were caught."""
    mutant_run.OUTPUT.mkdir(parents=True, exist_ok=True)
    build = mutant_run.Build()
    started = time.monotonic()
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        if broken := failing_without_mutant(build, tests, pool):
            print(f"these fail without any mutant: {' '.join(broken)}; see build/mutants/*.log",
                  file=sys.stderr)
            return False
        print(f"{len(tests)} tests pass without mutants, {time.monotonic() - started:.0f} s",
              flush=True)
        outcomes = try_all(build, mutants, pool)
    return print_sums(outcomes, time.monotonic() - started)


def selected(mutants, names):
    return [mutant for mutant in mutants
            if not names or any(name in mutant.name for name in names)]


def main():
    parser = argparse.ArgumentParser(prog="tools/dev mutants")
    parser.add_argument("action", choices=("check", "list", "targets", "run"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_intermixed_args()

    mutants, problems = mutant_patch.read_all()
    mutants = selected(mutants, options.names)
    if not mutants and not problems:
        problems = [f"no mutant has {' or '.join(options.names)} in its name; "
                    "see tools/dev mutants --list"]
    programs = mutant_run.programs_of_tests() if options.action == "targets" else None
    problems += mutant_patch.problems_of(mutants, programs)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    if options.action == "check":
        print(f"{len(mutants)} mutants apply")
    elif options.action == "list":
        for mutant in mutants:
            print(f"{mutant.name:<44} {' '.join(dict.fromkeys(mutant.tests)):<36} {mutant.what}")
    elif options.action == "targets":
        print("\n".join(sorted({os.path.relpath(programs[test], mutant_run.BUILD)
                                for mutant in mutants for test in mutant.tests})))
    elif not run_all(mutants, options.jobs):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
