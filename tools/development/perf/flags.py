"""The flags of `tools/dev perf` and of its commands, checked before anything is built."""

import difflib
import re

import rows

COUNT = re.compile(r"[1-9][0-9]{0,11}")
COUNTS = re.compile(r"[1-9][0-9]{0,11}(,[1-9][0-9]{0,11})*")
MEASURING = ("quick", "rounds", "engine", "db", "json", "report")
SHOWING = ("from_json", "markdown", "plot")
KNOWN = {
    "": (*MEASURING, *SHOWING, "num", "rows", "large", "in_parts"),
    "scale": (*MEASURING, *SHOWING, "keys"),
    "styles": (*MEASURING, *SHOWING, "keys"),
    "memory": ("quick", "rounds", "engine", "db", "json", "num"),
    "instructions": ("write",),
}
SWITCHES = ("quick", "large", "in_parts", "write")
# What the shell hands over; not for people.
PROGRAMS = ("program",)


class UsageError(Exception):
    pass


def suggestion(word, known):
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean '{near[0]}'?" if near else f"; known are: {' '.join(known)}"


def parse(words):
    """The command ("" for the rows) and the flags by name, as text; switches are True."""
    command = ""
    if words and not words[0].startswith("-"):
        command = words[0]
        words = words[1:]
        if command not in KNOWN:
            raise UsageError(f"unknown command '{command}'"
                             + suggestion(command, ["scale", "styles", "memory", "instructions"]))
    found = {}
    for word in words:
        match = re.fullmatch(r"--([a-z_]+)(?:=(.*))?", word, re.DOTALL)
        known = KNOWN[command] + PROGRAMS
        if match is None or match[1] not in known:
            name = word.lstrip("-").split("=", 1)[0]
            near = difflib.get_close_matches(name, KNOWN[command], 1)
            raise UsageError(f"unknown argument '{word}'"
                             + (f"; did you mean '--{near[0]}'?" if near else ""))
        name, value = match.groups()
        if name in SWITCHES:
            if value is not None:
                raise UsageError(f"--{name} takes no value")
            value = True
        elif not value:
            raise UsageError(f"--{name} wants a value: --{name}=…")
        found[name] = value
    check(command, found)
    return command, found


def check(command, found):
    for name in ("num", "rounds"):
        if name in found and not COUNT.fullmatch(found[name]):
            raise UsageError(f"--{name} wants a number above 0, not '{found[name]}'")
    if "keys" in found and not COUNTS.fullmatch(found["keys"]):
        raise UsageError(f"--keys wants numbers with commas between them, not '{found['keys']}'")
    if "quick" in found and ("num" in found or "keys" in found):
        raise UsageError("--quick is a size of its own: leave out --num and --keys")
    for name, known in (("rows", [row.name for row in rows.ROWS + rows.LARGE_ROWS]),
                        ("engine", ["winnow", *rows.PEERS])):
        for word in found.get(name, known[0]).split(","):
            if word not in known:
                what = "row" if name == "rows" else name
                raise UsageError(f"unknown {what} '{word}'{suggestion(word, known)}")
    if "from_json" in found:
        extra = sorted(set(found) & {"quick", "num", "keys", "rounds", "engine", "db", "rows",
                                     "large", "in_parts", "json"})
        if extra:
            raise UsageError(f"--from_json measures nothing: leave out --{extra[0]}")


def chosen_rows(found):
    if "rows" in found:
        names = found["rows"].split(",")
        return [row for row in rows.ROWS + rows.LARGE_ROWS if row.name in names]
    return list(rows.ROWS + (rows.LARGE_ROWS if "large" in found else ()))
