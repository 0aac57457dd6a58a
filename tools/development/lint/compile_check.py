"""Rule `compile`: clang compiles each header alone, and each source but those of tests, without a
warning. A header that one of those sources includes before all else has been compiled alone with it.

Only the front end runs, which is where warnings and the lock annotations (-Wthread-safety) are
checked. A file is looked at again when it or one of its includes is newer than its last clean run.
"""

import json
import os
import pathlib
import re
import shlex
import time

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wno-unused-parameter", "-Wnon-virtual-dtor",
            "-Werror"]
LOCK_WARNINGS = ["-Wthread-safety"]  # a test may stand outside of a class's own protocol
CLEAN_RUNS = "build/lint"
SOURCES_TOGETHER = 8
COMPILE_COMMANDS = "build/release/compile_commands.json"
COMMON_HEADERS = "build/release/CMakeFiles/winnow_common_headers.dir/cmake_pch.hxx"


def header_command(path):
    return ["clang++", "-std=c++20", "-x", "c++", "-I.", "-Iengine/include", "-Ifilter/include",
            "-Ifilter/rocksdb/include", "-Ifilter/redis/include", "-Ifilter/guard/include",
            "-Iengine/include/winnow/compat",
            "-Wno-pragma-once-outside-header", str(path)]


def source_commands(tree):
    """clang's command line for each source, after the release build's own, but without g++'s
    precompiled headers."""
    commands = {}
    commands_file = tree.root / COMPILE_COMMANDS
    for entry in json.loads(commands_file.read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        # What is compiled with others is listed in the file that includes them all.
        sources = [path] if "/Unity/" not in entry["file"] else [
            pathlib.Path(name) for name in QUOTED_INCLUDE.findall(path.read_text(encoding="utf-8"))]
        sources = [source for source in sources if source.is_relative_to(tree.root) and
                   not source.is_relative_to(commands_file.parent)]
        if not sources:
            continue
        kept, follows = ["clang" if path.suffix == ".c" else "clang++"], None
        for argument in shlex.split(entry["command"]):
            if follows:
                if not argument.endswith("cmake_pch.hxx"):
                    kept += [follows, argument]
                follows = None
            elif argument in ("-isystem", "-include"):
                follows = argument
            elif argument.startswith(("-I", "-D", "-std=", "-U")):
                kept.append(argument)
        for source in sources:
            commands[source.relative_to(tree.root)] = kept + [str(source)]
    return commands


QUOTED_INCLUDE = re.compile(r'^#include\s+"([^"]+)"', re.MULTILINE)
ANY_INCLUDE = re.compile(r"^#include", re.MULTILINE)


def first_included(tree, source, command):
    """The header that a source includes before any other; None if that is none of ours."""
    text = (tree.root / source).read_text(encoding="utf-8")
    found, first = QUOTED_INCLUDE.search(text), ANY_INCLUDE.search(text)
    if not found or found.start() != first.start():
        return None
    folders = [argument[2:] for argument in command if argument.startswith("-I")]
    for folder in [source.parent, *folders]:
        path = (tree.root / folder / found.group(1)).resolve()
        if path.exists():
            return path.relative_to(tree.root) if path.is_relative_to(tree.root) else None
    return None


def with_common_headers(tree, commands):
    """The sources' commands with the build's common headers read beforehand, where there are any:
    an include of one of those that a source forgets is then not found."""
    precompiled = tree.root / CLEAN_RUNS / "common_headers.pch"
    precompiled.parent.mkdir(parents=True, exist_ok=True)
    if not tree.has(COMMON_HEADERS):
        return commands
    code, output = tree.run(["clang++", "-std=c++20", "-x", "c++-header", COMMON_HEADERS,
                             "-o", str(precompiled)])
    if code != 0:
        raise RuntimeError(f"{COMMON_HEADERS} does not compile:\n{output}")
    return {path: command if command[0] == "clang" else
            command[:1] + ["-include-pch", str(precompiled)] + command[1:]
            for path, command in commands.items()}


def compiled_together(tree, commands):
    """Files that include up to eight sources of one folder and one command line, and which those
    are: what those sources include is then read once."""
    groups = {}
    for path, command in sorted(commands.items()):
        if command[0] != "clang":
            groups.setdefault((path.parent, *command[:-1]), []).append(path)
    units = {}
    for (folder, *_), sources in groups.items():
        for begin in range(0, len(sources), SOURCES_TOGETHER):
            together = sources[begin:begin + SOURCES_TOGETHER]
            if len(together) == 1:
                continue
            unit = pathlib.Path(CLEAN_RUNS, f"{str(folder).replace('/', '+')}+{together[0].stem}.cc")
            text = "".join(f'#include "{tree.root / source}"\n' for source in together)
            place = tree.root / unit
            if not place.exists() or place.read_text(encoding="utf-8") != text:
                place.write_text(text, encoding="utf-8")
            units[unit] = together
    return units


def is_clean_since(stamp):
    """Whether the last run was clean and nothing that it read has changed."""
    try:
        last = stamp.stat().st_mtime_ns
        words = stamp.read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]
        return all(pathlib.Path(word).stat().st_mtime_ns < last for word in words)
    except OSError:
        return False


def violations(tree):
    # Test sources have no locks of their own; the build of the tests checks them with g++.
    commands = {path: command for path, command in source_commands(tree).items()
                if path.parts[0] != "tests"}
    compiled_first = {first_included(tree, *item) for item in commands.items()}
    alone = {path: header_command(path) for path in tree.headers if path not in compiled_first}
    if not tree.precompiled:
        return failing(tree, {**commands, **alone})
    commands = with_common_headers(tree, commands)
    units = compiled_together(tree, commands)
    # What does not compile with others may compile alone: their names have met, no more.
    refused = {pathlib.Path(path) for path, _ in failing(tree, {
        path: commands[sources[0]][:-1] + [str(tree.root / path)]
        for path, sources in units.items()})}
    in_good_units = {source for path, sources in units.items() if path not in refused
                     for source in sources}
    return failing(tree, {**{path: command for path, command in commands.items()
                             if path not in in_good_units}, **alone})


def failing(tree, commands):
    """(path, what clang said) for each file that its command does not compile without a warning."""
    rules_changed = pathlib.Path(__file__).stat().st_mtime_ns

    def check(path):
        stamp = tree.root / CLEAN_RUNS / (str(path).replace("/", "+") + ".d")
        if stamp.exists() and stamp.stat().st_mtime_ns > rules_changed and is_clean_since(stamp):
            return None
        stamp.parent.mkdir(parents=True, exist_ok=True)
        pending = stamp.with_suffix(".pending")
        started = time.time_ns()
        locks = [] if path.parts[0] == "tests" else LOCK_WARNINGS
        code, output = tree.run(commands[path] + WARNINGS + locks +
                                ["-fsyntax-only", "-MD", "-MT", "clean", "-MF", str(pending)])
        if code != 0:
            stamp.unlink(missing_ok=True)
            return str(path), "does not compile cleanly:\n" + output
        # Dated before the compiler read anything: a change meanwhile is seen next time.
        os.utime(pending, ns=(started, started))
        pending.replace(stamp)
        return None

    return [found for found in tree.for_each(sorted(commands), check) if found]


def run_clang_tidy(tree):
    """Whether clang-tidy had anything to say; it prints its findings itself."""
    commands = source_commands(tree)
    sources = sorted(commands)

    def check(path):
        code, output = tree.run(["clang-tidy", "--quiet", "--warnings-as-errors=*", str(path),
                                 "--"] + commands[path][1:-1])
        return output if code != 0 else ""

    findings = [output for output in tree.for_each(sources, check) if output]
    print("\n".join(findings))
    print(f"-- clang-tidy: {len(findings)} of {len(sources)} files have findings", flush=True)
    return bool(findings)
