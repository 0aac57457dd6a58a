"""The tables that `tools/dev lint` ends with: where to look before it becomes a problem."""

import re
import statistics

from function_length import function_lengths

ROWS = 15
LOOK_AGAIN_LINES = 500


def print_tables(tree):
    sizes = sorted(((len(tree.lines(path)), str(path)) for path in tree.code), reverse=True)
    if not sizes:
        return
    print(f"\nBiggest files ({summary([count for count, _ in sizes])})")
    for count, path in sizes[:ROWS]:
        mark = "  look again" if count > LOOK_AGAIN_LINES else ""
        print(f"  {count:5d}  {path}{mark}")
    lengths = function_lengths(tree)
    if lengths:
        print(f"\nLongest functions ({summary([entry[0] for entry in lengths])})")
        for lines, path, first, name in lengths[:ROWS]:
            print(f"  {lines:5d}  {path}:{first}  {name}")
    print("\nShare of comments in comment and code lines")
    for label, chosen in comment_groups(tree):
        print(f"  {comment_share(tree, chosen):4.0%}  {label} ({len(chosen)} files)")


def summary(values):
    ordered = sorted(values)
    p90 = ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)]
    return f"{len(ordered)}, median {statistics.median(ordered):.0f}, p90 {p90} lines"


def comment_groups(tree):
    public = [path for path in tree.code if "include" in path.parts]
    tests = [path for path in tree.code if path.parts[0] == "tests"]
    code = [path for path in tree.code if path not in public and path not in tests]
    groups = (("public headers", public), ("code", code), ("tests", tests))
    return [(label, chosen) for label, chosen in groups if chosen]


def comment_share(tree, paths):
    comments = code = 0
    for path in paths:
        for line in tree.lines(path):
            if re.match(r"\s*(//|/\*|\*/)", line):
                comments += 1
            elif line.strip():
                code += 1
    return comments / max(1, comments + code)
