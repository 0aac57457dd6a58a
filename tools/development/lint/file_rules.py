"""Rule `files`: names say what is inside, and no file grows into a heap."""

import re

TOP_LEVEL = {
    ".ci", ".clang-format", ".clang-tidy", ".gitattributes", ".github", ".gitignore", "CHANGELOG.md",
    "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "bench", "docs", "engine",
    "filter", "tests", "tools",
}
EMPTY_NAMES = re.compile(r"(^|_)(utils?|helpers?|common|misc|managers?|impl2)(_|\.|$)")
# Named by LevelDB, for whose programs it is.
NAMED_BY_OTHERS = "engine/include/winnow/compat/leveldb/helpers/"
MAX_LINES = 800


def violations(tree):
    found = []
    listed = tree.output_of(["git", "ls-files"]).splitlines()
    for name in sorted({line.split("/")[0] for line in listed} - TOP_LEVEL):
        found.append((name, "is not one of the top-level names; see tools/development/lint"))
    for path in tree.code:
        for part in path.parts:
            if EMPTY_NAMES.search(part) and not str(path).startswith(NAMED_BY_OTHERS):
                found.append((str(path), f"'{part}' does not say what is inside"))
        count = len(tree.lines(path))
        if count > MAX_LINES:
            found.append((f"{path}:{count}", f"{count} lines; the limit is {MAX_LINES}"))
    return found
