"""Runs winnow_bench: settings of rows, engine by engine, round by round."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import rows

SHARED_FLAGS = (f"--key_size={rows.KEY_BYTES}", "--bloom_bits=10", "--compression_type=none")
# Bytes of files for each byte of data, B-trees' included, and what one load holds beside them.
DISK_SHARE = 1.4
LOAD_SHARE = 1.5


class RunFailed(Exception):
    """winnow_bench failed; the message is its last line."""


def engines_of(program):
    """Title by name of the engines that `program` was built with."""
    shown = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    _, title, rest = shown.stdout.partition("\nEngines in this build\n")
    if shown.returncode != 0 or not title:
        raise RunFailed(f"{program} --help names no engines: it is no winnow_bench")
    section = rest.split("\n\n", 1)[0]
    return {line.split()[0]: line.strip() for line in section.splitlines()}


class Progress:
    """One line on a terminal, and nothing elsewhere."""

    def __init__(self, num_steps):
        self.num_steps = num_steps
        self.step = 0
        self.start = time.monotonic()
        self.is_shown = sys.stderr.isatty()

    def show(self, text):
        self.step += 1
        if self.is_shown:
            seconds = time.monotonic() - self.start
            print(f"\r[{self.step}/{self.num_steps}] {text}, {seconds:.0f} s\033[K", end="",
                  file=sys.stderr, flush=True)

    def clear(self):
        if self.is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def databases_folder(chosen):
    """An empty folder, which is removed with what it holds then."""
    if chosen is None:
        root = pathlib.Path("build")
        root.mkdir(exist_ok=True)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="perf-databases-", dir=root))
    else:
        folder = pathlib.Path(chosen)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise RunFailed(f"{folder} is not empty")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def need_disk(folder, num_bytes):
    """Refuses a run that would fill the disk."""
    free = shutil.disk_usage(folder).free
    if num_bytes > free:
        raise RunFailed(f"about {num_bytes / 1e9:.0f} GB are needed in {folder}, where "
                        f"{free / 1e9:.0f} GB are free; name another folder with --db=DIR, fewer "
                        f"keys with --num=N, or fewer engines with --engine=LIST")


def leave_page_cache(folder):
    """The files' pages are written and then forgotten by the system."""
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


class Bench:
    """winnow_bench, with databases in a folder; remembers on what machine it ran."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.machine = {}

    def run(self, engine, benchmarks, flags):
        """The results by benchmark."""
        output = self.folder / "result.json"
        command = [self.program, f"--engine={engine}", "--benchmarks=" + ",".join(benchmarks),
                   f"--json={output}", *SHARED_FLAGS, *flags]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise RunFailed(f"{lines[-1]} ({' '.join(command)})")
        report = json.loads(output.read_text(encoding="utf-8"))
        output.unlink()
        self.machine = report["machine"]
        return {result["benchmark"]: result for result in report["results"]}

    def load(self, engine, data, num):
        keys = max(10, round(data.share * num))
        self.run(engine, ("fillrandom", "compact"),
                 (f"--num={keys}", f"--value_size={data.value_bytes}", "--cache_size=32M",
                  f"--db={self.folder / data.name}"))

    def run_setting(self, engine, setting, wanted, num, round_number):
        keys = setting.keys(num)
        own = self.folder / (setting.data.name if setting.data else "fill")
        flags = [f"--num={keys}", f"--reads={max(100, round(setting.reads * keys))}",
                 f"--value_size={setting.value_size()}", f"--seed={round_number}", f"--db={own}",
                 *setting.flags]
        if setting.data:
            flags.append("--use_existing_db")
        if setting.is_cold:
            leave_page_cache(own / engine)
        benchmarks = [*setting.first, *(name for name in wanted if name not in setting.first)]
        try:
            return self.run(engine, benchmarks, flags)
        finally:
            if not setting.data:
                shutil.rmtree(own, ignore_errors=True)


class RowMeasurement:
    """Measures rows, all rounds, into `values[row][engine]`. A contender that fails in a setting is
    left out of it from there on, and `failures` says why."""

    def __init__(self, bench, chosen, engines, num, rounds):
        self.bench = bench
        self.chosen = chosen
        self.engines = engines
        self.num = num
        self.rounds = rounds
        self.settings = list(dict.fromkeys(row.setting for row in chosen))
        self.values = {row.name: {} for row in chosen}
        self.durability = {}
        self.failures = {}

    def rows_in(self, setting):
        return [row for row in self.chosen if row.setting == setting]

    def engines_in(self, setting):
        return list(dict.fromkeys(name for row in self.rows_in(setting)
                                  for name in rows.peers_of(row, self.engines)))

    def disk_bytes(self):
        def bytes_of(setting):
            entry = rows.KEY_BYTES + setting.value_size()
            at_a_time = len(self.engines_in(setting)) if setting.data else 1
            return (at_a_time * DISK_SHARE + LOAD_SHARE) * entry * setting.keys(self.num)
        return max(map(bytes_of, self.settings))

    def run(self):
        data = list(dict.fromkeys(setting.data for setting in self.settings))
        steps = sum(self.rounds * len(self.engines_in(setting)) for setting in self.settings)
        steps += sum(len(self.loaders(one)) for one in data if one)
        progress = Progress(steps)
        try:
            for one in data:
                for engine in self.loaders(one) if one else ():
                    progress.show(f"{engine} is loaded")
                    self.attempt(engine, one.name, lambda e=engine, d=one: self.bench.load(
                        e, d, self.num))
                for setting in (each for each in self.settings if each.data == one):
                    self.run_rounds(setting, progress)
                if one:
                    shutil.rmtree(self.bench.folder / one.name, ignore_errors=True)
        finally:
            progress.clear()

    def loaders(self, data):
        return list(dict.fromkeys(engine for setting in self.settings if setting.data == data
                                  for engine in self.engines_in(setting)))

    def attempt(self, engine, place, action):
        """The action's result; None if it failed here, now or before."""
        if (engine, place) in self.failures:
            return None
        try:
            return action()
        except RunFailed as failure:
            self.failures[engine, place] = str(failure)
            return None

    def run_rounds(self, setting, progress):
        engines = [engine for engine in self.engines_in(setting)
                   if not setting.data or (engine, setting.data.name) not in self.failures]
        wanted = list(dict.fromkeys(row.benchmark for row in self.rows_in(setting)))
        for round_number in range(1, self.rounds + 1):
            # Each comes first in turn, so that none always follows the same one.
            first = round_number % len(engines) if engines else 0
            for engine in engines[first:] + engines[:first]:
                progress.show(f"round {round_number} of {self.rounds}, {setting.name}, {engine}")
                results = self.attempt(
                    engine, setting.name, lambda e=engine: self.bench.run_setting(
                        e, setting, wanted, self.num, round_number))
                if results is not None:
                    self.keep(engine, setting, results)

    def keep(self, engine, setting, results):
        for result in results.values():
            if result["durability"]:
                self.durability[engine] = result["durability"]
        for row in self.rows_in(setting):
            value = row.value(results[row.benchmark])
            if value is not None and engine in rows.peers_of(row, self.engines):
                self.values[row.name].setdefault(engine, []).append(value)
