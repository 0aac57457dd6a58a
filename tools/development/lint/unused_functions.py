"""Rule `unused`: every function outside tests/ is used by something outside tests/.

Universal Ctags says where functions are declared and defined; a search over the words of all sources
says where their names stand besides. It knows names, not types: a function whose name has another
meaning elsewhere counts as used, so that what is reported is almost always true.
"""

import re
from collections import defaultdict

FOLDERS = ("engine", "filter", "tools", "bench")
# Called by people who use Winnow; in bindings, by Abseil too, whose functions are replaced there.
PUBLIC = re.compile(r"^((engine|filter|filter/rocksdb|filter/redis|filter/guard)/include|engine/compat/bindings)/")
# Called by the language, the standard library, a test framework or a virtual function's caller.
KNOWN_CALLERS = re.compile(r"main|begin|end|swap|allocate|deallocate|construct|AbslHashValue"
                           r"|AbslStringify|PrintTo|operator\b.*|~.*")
# Names that ctags makes up for lambdas, and attributes that it takes for functions.
NO_FUNCTIONS = re.compile(r"__anon\w+|ABSL_\w+")
VIRTUAL = re.compile(r"\b(virtual|override|final)\b")

# Where nothing outside tests/ uses a function and it stays all the same: "path: name" and the reason.
ALLOWED = {
    "filter/rocksdb/register_on_load.cc: RegisterOnLoad": "the loader calls it: a constructor",
    "filter/rocksdb/preload/beside_rocksdb.cc: LoadBesideRocksDb":
        "the loader calls it: a constructor",
    "filter/rocksdb/registration.h: winnow_register_filter_policies":
        "RocksDB's build calls it: filter/rocksdb/winnow.mk names it",
    "engine/cache/cached_block.h: cached": "how a test sees whether the cache took a block",
    "filter/base/huge_page_arena.h: used_bytes": "how a test sees that memory is given back",
}

NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^\s*#\s*include[^\n]*',
    re.DOTALL | re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")


def code_of(text):
    """The text with comments, literals and includes blanked out; every line stays where it is."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text)


class Function:
    def __init__(self, name, path, line, end, owner):
        self.name, self.path, self.line, self.end, self.owner = name, path, line, end, owner


def declared_functions(tree, paths):
    """Each declaration and definition that ctags finds in the files, grouped by the function's name."""
    output = tree.output_of(["ctags", "-f", "-", "--languages=C++", "--langmap=C++:.cc.h",
                             "--kinds-C++=fp", "--fields=+neKs", "--excmd=number",
                             *map(str, paths)])
    functions = defaultdict(list)
    for row in output.splitlines():
        columns = row.split("\t")
        if len(columns) < 4:
            continue
        values = dict(column.split(":", 1) for column in columns[3:] if ":" in column)
        if "line" not in values or NO_FUNCTIONS.fullmatch(columns[0]):
            continue
        owner = (values.get("class") or values.get("struct") or "").split("::")[-1]
        line = int(values["line"])
        functions[columns[0]].append(
            Function(columns[0], columns[1], line, int(values.get("end", line)), owner))
    return functions


def is_exempt(tree, declarations):
    """Whether somebody calls the function whom a search over our sources does not find."""
    for function in declarations:
        if (KNOWN_CALLERS.fullmatch(function.name) or function.name == function.owner
                or PUBLIC.match(function.path) or "/testing/" in function.path):
            return True
        lines = tree.lines_of(function.path)[function.line - 1:function.line + 7]
        if VIRTUAL.search(re.split(r"[;{]", "\n".join(lines), maxsplit=1)[0]):
            return True
    return False


def is_use(code, start, end, is_member):
    """Whether the word in the line `code` may be the function: a member is called or named with its
    class, any other function stands behind no object."""
    before, after = code[:start].rstrip(), code[end:].lstrip()
    if is_member:
        return after.startswith(("(", "<")) or before.endswith("::")
    return not before.endswith((".", "->"))


class Words:
    """Where the names of functions stand."""

    def __init__(self, tree, names):
        self.places = defaultdict(list)
        for path in tree.code:
            text = code_of("\n".join(tree.lines(path)))
            for number, line in enumerate(text.split("\n"), 1):
                for word in WORD.finditer(line):
                    if word.group(0) in names:
                        self.places[word.group(0)].append((str(path), number, line, word.span()))

    def uses(self, declarations):
        """Paths of the files that use the function, other than by declaring it or calling itself."""
        sites = {(function.path, function.line) for function in declarations}
        is_member = all(function.owner for function in declarations)
        seen, found = set(), set()
        for path, number, line, (start, end) in self.places[declarations[0].name]:
            if (path, number) in sites and (path, number) not in seen:
                seen.add((path, number))
                continue
            is_plain = not line[:start].rstrip().endswith((".", "->", "::"))
            is_inside = any(function.path == path and function.line <= number <= function.end
                            for function in declarations)
            if (is_plain and is_inside) or not is_use(line, start, end, is_member):
                continue
            found.add(path)
        return found


def violations(tree):
    paths = [path for path in tree.code if path.parts[0] in FOLDERS]
    functions = declared_functions(tree, paths) if paths else {}
    words = Words(tree, functions.keys())
    found = []
    allowed = {entry for entry in ALLOWED if tree.has(entry.split(":")[0])}
    for name, declarations in functions.items():
        if is_exempt(tree, declarations):
            continue
        uses = words.uses(declarations)
        if any(not path.startswith("tests/") and "/testing/" not in path for path in uses):
            continue
        first = min(declarations, key=lambda function: (not function.path.endswith(".h"),
                                                        function.path, function.line))
        if f"{first.path}: {name}" in allowed:
            allowed.remove(f"{first.path}: {name}")
            continue
        shown = f"{first.owner}::{name}" if first.owner else name
        found.append((f"{first.path}:{first.line}",
                      f"only tests call {shown}" if uses else f"nothing calls {shown}"))
    found += [(entry.split(":")[0], f"ALLOWED names {entry}, which is used, or gone")
              for entry in allowed]
    return sorted(found)
