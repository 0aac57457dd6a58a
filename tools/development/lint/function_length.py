"""Rule `functions`: no function of ours, tests aside, is longer than 100 lines.

Lengths come from Universal Ctags, which finds a definition's last line without compiling.
"""

MAX_LINES = 100


def function_lengths(tree):
    """(lines, path, first line, name) for each function definition outside tests/."""
    files = [str(path) for path in tree.code if path.parts[0] != "tests"]
    if not files:
        return []
    output = tree.output_of(["ctags", "-f", "-", "--languages=C++", "--langmap=C++:.cc.h",
                             "--kinds-C++=f", "--fields=+ne", "--excmd=number", *files])
    lengths = []
    for line in output.splitlines():
        columns = line.split("\t")
        if len(columns) < 4:
            continue
        values = dict(column.split(":", 1) for column in columns[3:] if ":" in column)
        if "line" in values and "end" in values:
            first = int(values["line"])
            name = columns[0]
            for scope in ("class", "struct", "namespace"):
                if scope in values and scope != "namespace":
                    name = f"{values[scope].split('::')[-1]}::{name}"
            lengths.append((int(values["end"]) - first + 1, columns[1], first, name))
    return sorted(lengths, key=lambda entry: (-entry[0], entry[1:]))


def violations(tree):
    return [(f"{path}:{first}", f"{name} has {lines} lines; the limit is {MAX_LINES}")
            for lines, path, first, name in function_lengths(tree) if lines > MAX_LINES]
