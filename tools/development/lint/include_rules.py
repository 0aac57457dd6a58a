"""Rule `includes`: nothing includes against the arrow.

The order of the engine's folders is read from engine/CMakeLists.txt and that of the filter library's
rooms from filter/CMakeLists.txt, so that the link graph and this check cannot disagree.
engine/FOLDER/testing/ may include what FOLDER may, and is included by tests/ and itself alone: it is
linked into no product.
"""

import pathlib
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
FOLDER = re.compile(r"^engine_folder\((\w+)([^)]*)\)", re.MULTILINE)
TESTING = re.compile(r"^engine/\w+/testing/")
ROOM = re.compile(r"^filter_room\(([\w/]+)([^)]*)\)", re.MULTILINE)
# Built only where RocksDB is found, from a list of its own; it sees the bytes and the locks.
ROCKSDB_ROOM = {"top", "format", "base"}
# Built only where hiredis is found.
REDIS_ROOM = {"dynamic", "top", "base", "guard"}
# Built unless it is switched off. Sees neither the engine nor Redis.
GUARD_ROOM = {"dynamic", "top", "base"}
# What the engine may use of filter/ besides the public headers.
GROUND_FLOOR = "filter/base/"
PEER = re.compile(r"^((rocksdb|leveldb|hiredis)/|(lmdb|wiredtiger)\.h$)")
PEER_FOLDERS = ("filter/rocksdb/", "filter/redis/", "engine/compat/leveldb/",
                "engine/include/winnow/compat/", "tools/winnow/", "tools/winnow_bench/",
                "tests/engine/compat/", "tests/engine/rocksdb_oracle/", "tests/filter/rocksdb/", "tests/install/", "tests/tools/", "bench/")
# What the programs of tools/ and bench/ share; a build without the engine has it too.
SHARED_TOOLS = ("tools/flags/", "tools/process/", "tools/report/")


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


def filter_rooms(tree):
    """For each room of filter/, the set of the rooms that it may include; `top` is filter/ itself."""
    declaration = tree.root / "filter/CMakeLists.txt"
    if not declaration.exists():
        return {}
    text = declaration.read_text(encoding="utf-8")
    return {name: set(rooms.split()) for name, rooms in ROOM.findall(text)} | {
        "rocksdb": ROCKSDB_ROOM, "redis": REDIS_ROOM, "guard": GUARD_ROOM}


def room_of(path):
    """The room of a file of filter/; None for its public headers, which are all rooms' interface."""
    folder = "/".join(pathlib.PurePath(path).parts[1:-1])
    return None if "include" in folder.split("/") else folder or "top"


def implementing_rooms(tree):
    """For each public header of filter/ that a source file of its name implements, the file's room."""
    sources = {path.stem: room_of(path) for path in tree.code
               if path.parts[0] == "filter" and path.suffix == ".cc"}
    rooms = {}
    for path in tree.code:
        name = str(path)
        if path.parts[0] == "filter" and "/include/winnow/" in name and path.stem in sources:
            rooms[name.partition("/include/")[2]] = sources[path.stem]
    return rooms


class FilterRooms:
    """Which of the filter library's rooms may include what."""

    def __init__(self, tree):
        self._allowed = filter_rooms(tree)
        self._implementing = implementing_rooms(tree)

    def problem(self, path, target):
        room = room_of(path)
        if room not in self._allowed:
            return None
        other = self._implementing.get(target) if target.startswith("winnow/") else room_of(target)
        if other is None or other == room or other in self._allowed[room]:
            return None
        return f"room {room} of filter/ does not see room {other}: {target}"


def included_component(target):
    """The part of Winnow that an include path belongs to, or None for everybody else's headers."""
    if target.startswith(("winnow/filter/", "winnow/guard/")):
        return "filter"
    if target.startswith("winnow/"):
        return "engine"
    first = target.split("/")[0]
    return f"{first}/" if first in ("engine", "filter", "tools", "tests", "bench") else None


def problem(path, target, folders, rooms):
    """Why the file may not include the target, or None."""
    component = included_component(target)
    where = str(path)
    if PEER.match(target) and not where.startswith(PEER_FOLDERS):
        return f"{target}: other engines are known only to {', '.join(PEER_FOLDERS)}"
    if component is None:
        return None
    testing = TESTING.match(target)
    if testing and not where.startswith(("tests/", testing.group())):
        return f"tests alone include {testing.group()}: {target}"
    if where.startswith("filter/"):
        if component not in ("filter", "filter/"):
            return f"filter/ stands alone: {target}"
        return rooms.problem(path, target)
    if where.startswith("engine/include/"):
        return None if component in ("filter", "engine") else f"a public header includes {target}"
    if where.startswith("engine/"):
        return engine_problem(path, target, component, folders)
    if where.startswith("tools/") and component in ("tests/", "bench/"):
        return f"tools/ includes {target}"
    if where.startswith(SHARED_TOOLS) and not target.startswith((*SHARED_TOOLS, GROUND_FLOOR)):
        return f"tools/flags/ and tools/report/ stand alone, so that bench/ may use them: {target}"
    if where.startswith("bench/") and component == "tools/" and not target.startswith(SHARED_TOOLS):
        return f"bench/ uses {' and '.join(SHARED_TOOLS)} only: {target}"
    return None


def engine_problem(path, target, component, folders):
    folder = path.parts[1]
    if component == "filter" and "filter" not in folders.get(folder, ()):
        return f"{folder}/ does not link the filter library: {target}"
    if component == "filter/" and target.startswith(GROUND_FLOOR):
        links = folders.get(folder, ())
        return (None if "filter" in links or "filter_base" in links
                else f"{folder}/ does not link the ground floor, winnow_filter_base: {target}")
    if component == "filter/":
        return f"the engine uses the filter library's public headers and filter/base/ only: {target}"
    if component in ("tools/", "tests/", "bench/"):
        return f"engine/ includes {target}"
    if component == "engine/":
        other = target.split("/")[1]
        if other != folder and other not in folders.get(folder, ()):
            return f"{folder}/ lies below {other}/ or beside it: {target}"
    return None


def violations(tree):
    folders = engine_folders(tree)
    rooms = FilterRooms(tree)
    found = []
    for path in tree.code:
        for number, line in enumerate(tree.lines(path), 1):
            include = INCLUDE.match(line)
            if include:
                reason = problem(path, include.group(2), folders, rooms)
                if reason:
                    found.append((f"{path}:{number}", reason))
    return found
