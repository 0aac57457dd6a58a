"""Compares how many instructions the engine's calls take with what bench/engine keeps of it.

Counts depend on compiler, C library and processor, which the file names; those of others are not
compared.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from text_table import print_table

KEPT = pathlib.Path(__file__).resolve().parents[3] / "bench/engine/instruction_counts.json"
# Two runs differ by a thousandth: by the false positives of filters with another seed.
TOLERANCE = 0.02
NOT_COMPARABLE = 77  # ctest's SKIP_RETURN_CODE
SAME = ("compiler", "libc", "avx2")
# FILE:FUNCTION; a member function of that name has two colons before it.
COUNT_LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+\S*(?<!:):measured_(\w+)", re.MULTILINE)


def count(program):
    """What the program says of itself, and the instructions of one operation by name."""
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/callgrind"
        ran = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--separate-threads=yes",
             f"--callgrind-out-file={output}", program],
            capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"{program} failed under valgrind: {ran.stderr.strip()}")
        # The first thread's alone: what background threads do meanwhile is not counted.
        annotated = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=100", f"{output}-01"],
            capture_output=True, text=True, check=True).stdout
    about = json.loads(ran.stdout)
    operations = about.pop("operations")
    if not COUNT_LINE.search(annotated):
        raise RuntimeError("callgrind_annotate names none of the calls that are counted")
    return about, {name: round(int(total.replace(",", "")) / operations, 1)
                   for total, name in sorted(COUNT_LINE.findall(annotated), key=lambda hit: hit[1])}


def verdict(before, now):
    if before is None:
        return "new"
    change = now / before - 1
    if abs(change) <= TOLERANCE:
        return "as kept"
    return "MORE" if change > 0 else "fewer"


def line_of(name, kept, now, word):
    change = f"{now / kept - 1:+.2%}" if kept and now else ""
    return [name, f"{kept:,.1f}" if kept else "", f"{now:,.1f}" if now else "", change, word]


def compare(about, counts, write):
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if write:
        text = json.dumps({**about, "instructions_per_operation": counts}, indent=2)
        KEPT.write_text(text + "\n", encoding="utf-8")
    different = [name for name in SAME if kept.get(name) != about[name]]
    if different and not write:
        print(f"Not compared: {KEPT.name} was counted with "
              + ", ".join(f"{name} {kept.get(name)}" for name in different) + "; here it is "
              + ", ".join(f"{name} {about[name]}" for name in different) + ".")
        return NOT_COMPARABLE
    before = kept.get("instructions_per_operation", {})
    verdicts = {name: verdict(before.get(name), now) for name, now in counts.items()}
    verdicts.update({name: "gone" for name in before if name not in counts})
    print_table(["operation", "kept", "now", "change", ""],
                [line_of(name, before.get(name), counts.get(name), word)
                 for name, word in verdicts.items()], num_left=1)
    if write:
        print(f"\nKept in {KEPT.relative_to(KEPT.parents[2])}.")
        return 0
    wrong = {word for word in verdicts.values() if word != "as kept"}
    if "MORE" in wrong:
        print(f"\nSome take over {TOLERANCE:.0%} more instructions than is kept. If they buy "
              "something, keep the new counts: tools/dev perf instructions --write")
    elif wrong:
        print("\nWhat is kept is not true any more. Keep the new counts: "
              "tools/dev perf instructions --write")
    return 1 if wrong else 0


def main(program, write):
    try:
        about, counts = count(program)
    except FileNotFoundError as missing:
        print(f"Not compared: there is no {missing.filename} here (package valgrind).")
        return NOT_COMPARABLE
    except (RuntimeError, subprocess.CalledProcessError) as failure:
        print(f"tools/dev: {failure}", file=sys.stderr)
        return 1
    return compare(about, counts, write)
