"""Which program runs a ctest entry, and with which arguments."""

import json
import pathlib
import subprocess


def programs(build):
    """Entry -> target that it needs, from what configuring wrote: nothing need be built yet."""
    text = (pathlib.Path(build) / "test_programs.txt").read_text(encoding="utf-8")
    return dict(line.split() for line in text.splitlines())


def commands(build):
    """Entry -> command line. ctest names only programs that have been built."""
    shown = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True,
                           capture_output=True, text=True).stdout
    return {test["name"]: test["command"] for test in json.loads(shown)["tests"]
            if "command" in test}
