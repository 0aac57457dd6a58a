"""Rule `unity`: names in the anonymous namespaces of one engine room do not meet.

Sanitizer builds compile a room's sources eight at a time, where two functions, types or constants
of one name are an error; a release build would not show it. Most of them are copies anyhow.
"""

import re
from collections import defaultdict

ROOM = re.compile(r"engine/\w+/\w+\.cc")
# "namespace:winnow::__anon12" and nothing behind it: members of classes are not meant.
ANONYMOUS = re.compile(r"(?:\w+::)*__anon\w+")
PARAMETER_NAME = re.compile(r"\s*\b\w+\s*(?=[,)]|$)")


def sources_alone(tree):
    """What engine/CMakeLists.txt compiles alone, by paths without "engine/" and ".cc"."""
    text = "\n".join(tree.lines_of("engine/CMakeLists.txt"))
    found = re.findall(r"set\(private_to_libwinnow ([^)]*)\)|APPEND own_units ([^)]*)\)", text)
    return {word.removesuffix(".cc") for groups in found for word in " ".join(groups).split()}


def tags(tree, paths):
    """Name, path, line and parameters (of a function) of what stands in anonymous namespaces."""
    output = tree.output_of(["ctags", "-f", "-", "--languages=C++", "--kinds-C++=fsguctv",
                             "--fields=+nesKS", "--excmd=number", *map(str, paths)])
    for row in output.splitlines():
        name, path, _, kind, *columns = row.split("\t")
        values = dict(column.split(":", 1) for column in columns if ":" in column)
        if ANONYMOUS.fullmatch(values.get("namespace", "")) and not name.startswith("__anon"):
            parameters = values.get("signature", "")
            yield name, path, int(values["line"]), PARAMETER_NAME.sub("", parameters)


def violations(tree):
    alone = sources_alone(tree) if tree.has("engine/CMakeLists.txt") else set()
    paths = [path for path in tree.code if ROOM.fullmatch(str(path))
             and str(path).removeprefix("engine/").removesuffix(".cc") not in alone]
    places = defaultdict(dict)
    for name, path, line, parameters in tags(tree, paths) if paths else ():
        room = path.rsplit("/", 1)[0]
        places[room, name, parameters].setdefault(path, line)
    found = []
    for (_, name, _), by_path in places.items():
        (first, _), *others = sorted(by_path.items())
        found += [(f"{path}:{line}", f"{name} is a name in {first}, too") for path, line in others]
    return sorted(found)
