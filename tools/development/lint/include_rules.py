"""Rule `includes`: nothing includes against the arrow.

The order of the engine's folders is read from engine/CMakeLists.txt, so that the link graph and
this check cannot disagree.
"""

import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
FOLDER = re.compile(r"^engine_folder\((\w+)([^)]*)\)", re.MULTILINE)
PEER = re.compile(r"^(rocksdb|leveldb)/")
PEER_FOLDERS = ("filter/rocksdb/", "engine/compat/leveldb/", "engine/include/winnow/compat/",
                "tools/winnow/", "tools/winnow_bench/", "tests/engine/compat/",
                "tests/filter/rocksdb/", "tests/install/", "tests/tools/", "bench/")
# What the programs of tools/ and bench/ share; a build without the engine has it too.
SHARED_TOOLS = ("tools/flags/", "tools/report/")


def engine_folders(tree):
    """For each folder of engine/, the set of the folders (and `filter`) that it may include."""
    text = (tree.root / "engine/CMakeLists.txt").read_text(encoding="utf-8")
    direct = {name: set(re.findall(r"winnow_(\w+)", links)) for name, links in FOLDER.findall(text)}
    allowed = {}

    def reach(folder):
        if folder not in allowed:
            allowed[folder] = set()
            for lower in direct.get(folder, ()):
                allowed[folder] |= {lower} | reach(lower)
        return allowed[folder]

    for folder in direct:
        reach(folder)
    return allowed


def included_component(target):
    """The part of Winnow that an include path belongs to, or None for everybody else's headers."""
    if target.startswith("winnow/filter/"):
        return "filter"
    if target.startswith("winnow/"):
        return "engine"
    first = target.split("/")[0]
    return f"{first}/" if first in ("engine", "filter", "tools", "tests", "bench") else None


def problem(path, target, folders):
    """Why the file may not include the target, or None."""
    component = included_component(target)
    where = str(path)
    if PEER.match(target) and not where.startswith(PEER_FOLDERS):
        return f"{target}: RocksDB and LevelDB are known only to {', '.join(PEER_FOLDERS)}"
    if component is None:
        return None
    if where.startswith("filter/"):
        return None if component in ("filter", "filter/") else f"filter/ stands alone: {target}"
    if where.startswith("engine/include/"):
        return None if component in ("filter", "engine") else f"a public header includes {target}"
    if where.startswith("engine/"):
        return engine_problem(path, target, component, folders)
    if where.startswith("tools/") and component in ("tests/", "bench/"):
        return f"tools/ includes {target}"
    if where.startswith(SHARED_TOOLS) and not target.startswith(SHARED_TOOLS):
        return f"tools/flags/ and tools/report/ stand alone, so that bench/ may use them: {target}"
    if where.startswith("bench/") and component == "tools/" and not target.startswith(SHARED_TOOLS):
        return f"bench/ uses {' and '.join(SHARED_TOOLS)} only: {target}"
    return None


def engine_problem(path, target, component, folders):
    folder = path.parts[1]
    if component == "filter" and "filter" not in folders.get(folder, ()):
        return f"{folder}/ does not link the filter library: {target}"
    if component == "filter/":
        return f"the engine uses the filter library's public headers only: {target}"
    if component in ("tools/", "tests/", "bench/"):
        return f"engine/ includes {target}"
    if component == "engine/":
        other = target.split("/")[1]
        if other != folder and other not in folders.get(folder, ()):
            return f"{folder}/ lies below {other}/ or beside it: {target}"
    return None


def violations(tree):
    folders = engine_folders(tree)
    found = []
    for path in tree.code:
        for number, line in enumerate(tree.lines(path), 1):
            include = INCLUDE.match(line)
            if include:
                reason = problem(path, include.group(2), folders)
                if reason:
                    found.append((f"{path}:{number}", reason))
    return found
