"""Compiles, links and runs mutants beside a finished build.

Nothing in the build or in the sources changes. A mutant is one source: its mutated copy is compiled
with the command of the original, and each test program is linked once more with that object before
the libraries, whose own object for the source the linker then has no reason to take.
"""

import collections
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time

import mutant_patch

BUILD = mutant_patch.ROOT / "build/release"
OUTPUT = mutant_patch.ROOT / "build/mutants"
# A test that hangs has noticed something too; the slowest takes a sixth of this.
MAX_SECONDS = 180

Test = collections.namedtuple("Test", "command directory environment")
# caught_by: a test's name; None if the mutant survived. problem: why it could not be tried.
Outcome = collections.namedtuple("Outcome", "mutant caught_by problem seconds")


class Failure(Exception):
    """Something other than a test failed."""


def programs_of_tests(directory=BUILD):
    """The program of each ctest entry. ctest's own listing omits what has not been built yet."""
    listing = directory / "CTestTestfile.cmake"
    text = listing.read_text(encoding="utf-8") if listing.exists() else ""
    programs = dict(re.findall(r'^add_test\((?:\[=*\[)?([\w.-]+)(?:\]=*\])? "([^"]+)"', text,
                               re.MULTILINE))
    for folder in re.findall(r'^subdirs\("([^"]+)"\)', text, re.MULTILINE):
        programs.update(programs_of_tests(directory / folder))
    return programs


def output_of(command):
    return subprocess.run(command, cwd=BUILD, check=True, capture_output=True, text=True).stdout


class Build:
    """What a finished build knows: how each source is compiled, each program linked, each test run."""

    def __init__(self):
        commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
        # The first one: a library's, where tests compile the source again in their own way.
        self._compilations = {entry["file"]: entry for entry in reversed(commands)}
        self._links, self._mutex = {}, threading.Lock()
        self.tests = {}
        for test in json.loads(output_of(["ctest", "--show-only=json-v1"]))["tests"]:
            properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
            self.tests[test["name"]] = Test(
                test.get("command", []), properties.get("WORKING_DIRECTORY", str(BUILD)),
                dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", [])))

    def compilation(self, path, source, target):
        """The command that compiles `source` into `target` as the build compiles `path`."""
        entry = self._compilations.get(str(mutant_patch.ROOT / path))
        if entry is None:
            raise Failure(f"{path} is not compiled by this build")
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = str(target)
        words[words.index("-c") + 1] = str(source)
        return words + ["-w"]  # what a defect leaves unused is no error

    def link(self, program, first_object, target):
        """The command that links `program` into `target`, `first_object` before the libraries."""
        name = os.path.relpath(program, BUILD)
        with self._mutex:
            if name not in self._links:
                self._links[name] = output_of(["ninja", "-t", "commands", "-s", name]).strip()
        before, separator, after = self._links[name].partition(f" -o {name} ")
        if not separator:
            raise Failure(f"the command that links {name} is not understood")
        added = f" -o {shlex.quote(str(target))} {shlex.quote(str(first_object))} "
        return ["sh", "-c", before + added + after]


def run(command, log, directory=BUILD, environment=None):
    """True if the command succeeded, and in time."""
    with open(log, "ab") as output:
        output.write(f"== {' '.join(command)}\n".encode())
        output.flush()
        process = subprocess.Popen(command, cwd=directory, env=dict(os.environ, **environment or {}),
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(MAX_SECONDS) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False


def passes(test, program, log):
    environment = dict(test.environment, GTEST_FAIL_FAST="1", GTEST_COLOR="no")
    return run([str(program), *test.command[1:]], log, test.directory, environment)


def passes_without_mutant(build, name):
    log = OUTPUT / f"{name}.log"
    log.unlink(missing_ok=True)
    return passes(build.tests[name], build.tests[name].command[0], log)


def log_of(mutant):
    return OUTPUT / mutant.name / "log"


def first_catch(build, mutant):
    """The name of the first test that fails with the mutant, or None."""
    directory = OUTPUT / mutant.name
    directory.mkdir(parents=True, exist_ok=True)
    log = log_of(mutant)
    log.unlink(missing_ok=True)
    source = directory / os.path.basename(mutant.path)
    source.write_text(mutant_patch.mutated_source(mutant), encoding="utf-8")
    compiled = source.with_suffix(".o")
    if not run(build.compilation(mutant.path, source, compiled), log):
        raise Failure("does not compile")
    linked = {}
    try:
        for name in mutant.tests:
            program = build.tests[name].command[0]
            if program not in linked:
                linked[program] = directory / os.path.basename(program)
                if not run(build.link(program, compiled, linked[program]), log):
                    raise Failure(f"does not link into {os.path.basename(program)}")
            if not passes(build.tests[name], linked[program], log):
                return name
        return None
    finally:
        for path in (compiled, *linked.values()):
            path.unlink(missing_ok=True)


def attempt(build, mutant):
    started = time.monotonic()
    caught_by = problem = None
    try:
        caught_by = first_catch(build, mutant)
    except (Failure, mutant_patch.Stale) as failure:
        problem = str(failure)
    return Outcome(mutant, caught_by, problem, time.monotonic() - started)
