"""The repository's own source files, and running a command for each of them in parallel."""

import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

CODE_FOLDERS = ("engine", "filter", "tools", "tests", "bench")


class SourceTree:
    def __init__(self, root, jobs, precompiled=False):
        """`precompiled`: sources are compiled behind the build's common headers."""
        self.root = pathlib.Path(root)
        self.jobs = jobs
        self.precompiled = precompiled
        self.headers = self._files("*.h")
        self.sources = self._files("*.cc")
        self.code = sorted(self.headers + self.sources)
        self._lines = {}

    def _files(self, pattern):
        found = []
        for folder in CODE_FOLDERS:
            found += (self.root / folder).rglob(pattern)
        return sorted(path.relative_to(self.root) for path in found)

    def lines(self, path):
        """The lines of a file, without their line ends."""
        if path not in self._lines:
            self._lines[path] = (self.root / path).read_text(encoding="utf-8").splitlines()
        return self._lines[path]

    def lines_of(self, name):
        """The same for a path given as text."""
        return self.lines(pathlib.Path(name))

    def has(self, name):
        return (self.root / name).exists()

    def run(self, command):
        """Runs one command at the root; gives the exit code and all that it printed."""
        done = subprocess.run(command, cwd=self.root, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def output_of(self, command):
        """What the command printed; a RuntimeError if it failed, which must not look like silence."""
        code, output = self.run(command)
        if code != 0:
            raise RuntimeError(f"{command[0]} failed: {output.strip()}")
        return output

    def for_each(self, items, function):
        """function(item) for each item, several at a time; the results in the items' order."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(function, items))
