"""Documentation names files that exist, and the tables of public headers are complete.

Looked at: README.md, those of engine, filter and bench/engine, .github/CONTRIBUTING.md and every FORMAT.md.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = ("README.md", "engine/README.md", "filter/README.md", "bench/engine/README.md",
         ".github/CONTRIBUTING.md")
# Where a path may start, besides the document's own folder.
STARTS = ("", "engine/include", "engine/include/winnow", "engine/include/winnow/compat",
          "filter/include", "filter/rocksdb/include", "filter/redis/include",
          "filter/redis/include/winnow/filter", "filter/include/winnow/filter")
# What a build or an installation makes.
MADE = ("build/", "/", "~", "./")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)")
FILE_PATH = re.compile(r"(?:[\w.-]+/)+[\w-]+(?:\.[\w-]+)*\.[a-z]{1,5}")
# Tables of public headers: the document, and the folders whose headers it lists.
TABLES = {
    "engine/README.md": ("engine/include/winnow",),
    "filter/README.md": ("filter/include/winnow/filter",
                         "filter/rocksdb/include/winnow/filter",
                         "filter/redis/include/winnow/filter"),
}
TABLE = re.compile(r"^\| public header \|.*\n\|[-|: ]+\|\n((?:\|.*\n)+)", re.MULTILINE)


def documents():
    return [ROOT / name for name in NAMED] + sorted(
        path for folder in ("engine", "filter") for path in (ROOT / folder).rglob("FORMAT.md"))


def named_paths(text):
    """The paths of files in code spans, and the targets of links inside the repository."""
    text = FENCE.sub("", text)
    words = [word.rstrip(",.;:") for span in CODE.findall(text) for word in span.split()]
    paths = {word for word in words if FILE_PATH.fullmatch(word)}
    paths |= {link for link in LINK.findall(text) if "://" not in link}
    return {path for path in paths if not path.startswith(MADE)}


def missing_paths(text, folder):
    starts = [folder] + [ROOT / start for start in STARTS]
    return sorted(path for path in named_paths(text)
                  if not any((start / path).exists() for start in starts))


def listed_headers(text):
    table = TABLE.search(text)
    rows = table.group(1).splitlines() if table else []
    return [name for row in rows for name in CODE.findall(row.split("|")[1])]


def public_headers(folders):
    headers = set()
    for folder in folders:
        headers |= {str(path.relative_to(ROOT / folder)) for path in (ROOT / folder).rglob("*.h")}
    # What inline functions need is installed, but no interface.
    return {header for header in headers if not header.startswith("internal/")}


class DocumentationTest(unittest.TestCase):
    def test_files_that_are_named_exist(self):
        for document in documents():
            with self.subTest(document=str(document.relative_to(ROOT))):
                missing = missing_paths(document.read_text(encoding="utf-8"), document.parent)
                self.assertEqual(missing, [])

    def test_every_public_header_is_listed_once_and_every_listed_one_exists(self):
        for document, folders in TABLES.items():
            with self.subTest(document=document):
                listed = listed_headers((ROOT / document).read_text(encoding="utf-8"))
                self.assertEqual(sorted(listed), sorted(public_headers(folders)))

    def test_each_listed_header_is_said_to_do_something(self):
        for document in TABLES:
            table = TABLE.search((ROOT / document).read_text(encoding="utf-8"))
            for row in table.group(1).splitlines():
                with self.subTest(document=document, row=row):
                    self.assertRegex(row, r"^\| `[^`]+` \| \S.*\S \|$")

    def test_what_is_missing_is_noticed(self):
        text = ("`engine/no_such_file.cc`, `tools/dev bench`, `winnow/db.h`, `build/made/by/cmake.txt`\n"
                "[here](engine/no_such_document.md#part) [there](https://example.org/a/b.html)\n"
                "```sh\ncat no/such/example.txt\n```\n")
        self.assertEqual(missing_paths(text, ROOT),
                         ["engine/no_such_document.md", "engine/no_such_file.cc"])
        self.assertEqual(listed_headers("| public header | for |\n|---|---|\n| `a.h` | `b.h` |\n"),
                         ["a.h"])


if __name__ == "__main__":
    unittest.main()
