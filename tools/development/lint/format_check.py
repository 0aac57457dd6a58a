"""Rule `format`: clang-format would change nothing."""

import re


def violations(tree):
    batches = [tree.code[start:start + 10] for start in range(0, len(tree.code), 10)]

    def check(batch):
        code, output = tree.run(["clang-format", "--dry-run", "--Werror", *map(str, batch)])
        places = re.findall(r"^(\S+?:\d+):\d+: error: code should be clang-formatted", output,
                            re.MULTILINE)
        if code != 0 and not places:
            raise RuntimeError(f"clang-format failed: {output.strip()}")
        return places

    found = {}
    for places in tree.for_each(batches, check):
        for place in places:
            path = place.rsplit(":", 1)[0]
            found.setdefault(path, (place, "run tools/dev format"))
    return list(found.values())
