"""Rule `text`: what a search over the lines can tell."""

import re

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
INVISIBLE_LOCK = re.compile(r'#\s*include\s*[<"]absl/synchronization/')
MUTEX_MEMBER = re.compile(r"^\s*(?:mutable\s+)?(?:std::(?:shared_)?mutex|(?:winnow::)?Mutex)\s+(\w+_)"
                          r"(?:\s+ABSL_\w+\([^)]*\))*\s*(?:\{\})?;")
PRIMITIVES = "filter/base/mutex.h"


def violations(tree):
    found = []
    for path in tree.code:
        text = "\n".join(tree.lines(path))
        for number, line in enumerate(tree.lines(path), 1):
            where = f"{path}:{number}"
            if UNFINISHED.search(line):
                found.append((where, "unfinished work is an issue, not a comment"))
            if INVISIBLE_LOCK.search(line):
                found.append((where, "a packaged Abseil's locks are invisible to "
                                     f"ThreadSanitizer; use {PRIMITIVES}"))
            member = MUTEX_MEMBER.match(line)
            if (member and str(path) != PRIMITIVES and not is_explained(tree.lines(path), number)
                    and guards_nothing(member.group(1), text)):
                found.append((where, f"no ABSL_GUARDED_BY or …_LOCKS_REQUIRED names "
                                     f"'{member.group(1)}', nor does a comment above say why"))
    return found


def is_explained(lines, number):
    return number > 1 and lines[number - 2].lstrip().startswith("//")


def guards_nothing(mutex, text):
    named = rf"ABSL_(?:PT_)?(?:GUARDED_BY|\w*LOCKS_REQUIRED)\([^)]*\b{re.escape(mutex)}\b"
    return not re.search(named, text)
