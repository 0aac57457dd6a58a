"""Winnow's own checks; `tools/dev lint --help` says which. Run through tools/dev."""

import argparse
import pathlib
import sys
import time

import compile_check
import file_rules
import format_check
import function_length
import include_rules
import size_report
import text_rules
import unity_names
import unused_functions
from source_tree import SourceTree

RULES = {
    "format": format_check.violations,
    "includes": include_rules.violations,
    "files": file_rules.violations,
    "text": text_rules.violations,
    "functions": function_length.violations,
    "unused": unused_functions.violations,
    "unity": unity_names.violations,
    "compile": compile_check.violations,
}


def main():
    parser = argparse.ArgumentParser(prog="tools/dev lint")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tidy", action="store_true")
    parser.add_argument("--precompiled", action="store_true")
    parser.add_argument("--rule", action="append", choices=sorted(RULES))
    options = parser.parse_args()

    tree = SourceTree(pathlib.Path(__file__).resolve().parents[3], options.jobs,
                      options.precompiled)
    failed = False
    for name, violations in RULES.items():
        if options.rule and name not in options.rule:
            continue
        started = time.monotonic()
        found = violations(tree)
        for where, what in found:
            print(f"{where}: [{name}] {what}")
        verdict = f"{len(found)} violations" if found else "clean"
        print(f"-- {name}: {verdict} ({time.monotonic() - started:.1f} s)", flush=True)
        failed = failed or bool(found)
    if options.tidy:
        failed = compile_check.run_clang_tidy(tree) or failed
    if not options.rule:
        size_report.print_tables(tree)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
