"""Mutants as files: reading them, and applying them to a source's text.

A mutant is a defect that the tests must catch: tools/development/mutants/FOLDER/NAME.txt holds

    what goes wrong, in one line
    caught by: TEST [TEST…]
    path/of/the/source.cc
    --- original
    text that occurs exactly once in that source
    +++ mutated
    text that takes its place; none removes it

TEST is the name of a ctest entry. The tests are tried in this order until one fails; one that
depends on chance is named several times. White space between tokens does not count when the
original is looked for, so a source may be formatted anew without touching its mutants.
"""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tools/development/mutants"
FORMAT = re.compile(r"(?P<what>[^\n]+)\n"
                    r"caught by:(?P<tests>(?: \w+)+)\n"
                    r"(?P<path>\S+\.cc)\n"
                    r"--- original\n(?P<original>.+?)\n"
                    r"\+\+\+ mutated\n(?P<mutated>.*)", re.DOTALL)

# The name is FOLDER/NAME.
Mutant = collections.namedtuple("Mutant", "name what tests path original mutated")


class Stale(Exception):
    """A mutant that cannot be read, or that does not fit its source."""


def parse(name, text):
    found = FORMAT.fullmatch(text)
    if not found:
        raise Stale(f"{name}: not in the form that tools/development/mutant_patch.py describes")
    return Mutant(name, found["what"], found["tests"].split(), found["path"], found["original"],
                  found["mutated"].rstrip("\n"))


def read_all(folder=FOLDER):
    """The mutants in the order of their names, and what is wrong with the unreadable ones."""
    mutants, problems = [], []
    for path in sorted(folder.rglob("*.txt")):
        name = str(path.relative_to(folder).with_suffix(""))
        try:
            mutants.append(parse(name, path.read_text(encoding="utf-8")))
        except Stale as problem:
            problems.append(str(problem))
    return mutants, problems


def pattern_of(original):
    """Matches the tokens of the text with any white space between them."""
    pattern, previous = "", ""
    for token in re.findall(r"\w+|[^\w\s]", original):
        joins_words = re.match(r"\w", previous) and re.match(r"\w", token)
        pattern += (r"\s+" if joins_words else r"\s*" if previous else "") + re.escape(token)
        previous = token
    begin = r"(?<!\w)" if re.match(r"\w", original.strip()) else ""
    end = r"(?!\w)" if re.match(r"\w", previous) else ""
    return re.compile(begin + pattern + end)


def apply(mutant, text):
    """The source's text with the mutant in it."""
    found = list(pattern_of(mutant.original).finditer(text))
    if len(found) != 1:
        raise Stale(f"{mutant.name}: the original text stands {len(found)} times in {mutant.path}")
    mutated = text[:found[0].start()] + mutant.mutated + text[found[0].end():]
    if mutated.split() == text.split():
        raise Stale(f"{mutant.name}: changes nothing")
    return mutated


def mutated_source(mutant):
    try:
        text = (ROOT / mutant.path).read_text(encoding="utf-8")
    except OSError:
        raise Stale(f"{mutant.name}: there is no {mutant.path}") from None
    return apply(mutant, text)


def problems_of(mutants, known_tests=None):
    """What is wrong with mutants against the tree, one text each; known_tests: names of ctest."""
    problems = []
    for mutant in mutants:
        try:
            mutated_source(mutant)
        except Stale as problem:
            problems.append(str(problem))
        if known_tests is not None:
            problems += [f"{mutant.name}: there is no test {test}" for test in mutant.tests
                         if test not in known_tests]
    return problems
