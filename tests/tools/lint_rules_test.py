"""Each rule of `tools/dev lint` finds the one violation in a small tree, and nothing else."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/development/lint"))

import compile_check  # noqa: E402
import file_rules  # noqa: E402
import format_check  # noqa: E402
import function_length  # noqa: E402
import include_rules  # noqa: E402
import text_rules  # noqa: E402
import unity_names  # noqa: E402
import unused_functions  # noqa: E402
from source_tree import SourceTree  # noqa: E402

ENGINE_FOLDERS = """\
engine_folder(base absl::status)
engine_folder(file_system winnow_base)
engine_folder(memtable winnow_base winnow_filter)
engine_folder(db winnow_file_system
              winnow_memtable)
"""


# A package of lint's own, which a machine that only runs the tests may lack.
needs_ctags = unittest.skipUnless(shutil.which("ctags"), "no ctags here")


class FakeCompiler(SourceTree):
    """A tree whose compiler refuses the files that end like one of `refuses`."""

    def __init__(self, root, refuses):
        super().__init__(root, jobs=1, precompiled=True)
        self.refuses = refuses
        self.compiled = []

    def run(self, command):
        source = pathlib.Path(command[command.index("-Wall") - 1]).relative_to(self.root)
        self.compiled.append(str(source))
        pathlib.Path(self.root, command[command.index("-MF") + 1]).touch()
        return int(str(source).endswith(self.refuses)), ""


class FailingTools(SourceTree):
    """A tree where no program runs."""

    def run(self, command):
        return 1, "no such option"


class ToolsThatFail(unittest.TestCase):
    def test_a_tool_that_fails_is_no_clean_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "engine/db").mkdir(parents=True)
            (pathlib.Path(folder) / "engine/db/open.cc").write_text("int main() {}\n")
            tree = FailingTools(folder, jobs=1)
            for rule in (file_rules, format_check, function_length, unity_names, unused_functions):
                with self.subTest(rule=rule.__name__):
                    with self.assertRaisesRegex(RuntimeError, "no such option"):
                        rule.violations(tree)


class LintRules(unittest.TestCase):
    def places(self, rule, files):
        """Where the rule finds violations in a tree of these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in ({"engine/CMakeLists.txt": ENGINE_FOLDERS} | files).items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
            subprocess.run(["git", "add", "."], cwd=root, check=True)
            return [where for where, _ in rule.violations(SourceTree(root, jobs=1))]

    def test_upward_include_is_found(self):
        self.assertEqual(self.places(include_rules, {
            "engine/base/status.h": '#include "engine/file_system/posix_io.h"\n',
            "engine/db/open.cc": '#include "engine/base/status.h"\n',
        }), ["engine/base/status.h:1"])

    def test_sideways_include_is_found(self):
        self.assertEqual(self.places(include_rules, {
            "engine/file_system/posix_io.cc": '\n#include "engine/memtable/arena.h"\n',
        }), ["engine/file_system/posix_io.cc:2"])

    def test_testing_folders_are_for_tests(self):
        self.assertEqual(self.places(include_rules, {
            "engine/db/open.cc": '#include "engine/file_system/testing/crash_state.h"\n',
            "engine/file_system/posix_io.cc": '#include "engine/file_system/testing/crash_state.h"\n',
            "engine/file_system/testing/crash_state.cc":
                '#include "engine/file_system/testing/crash_state.h"\n'
                '#include "engine/memtable/arena.h"\n',
            "tests/engine/crash_test.cc": '#include "engine/file_system/testing/crash_state.h"\n',
        }), ["engine/db/open.cc:1", "engine/file_system/posix_io.cc:1",
             "engine/file_system/testing/crash_state.cc:2"])

    def test_filter_stands_alone(self):
        self.assertEqual(self.places(include_rules, {
            "filter/bloom.cc": '#include "winnow/options.h"\n',
            "filter/cuckoo.cc": '#include "winnow/filter/spec.h"\n#include "filter/bloom.h"\n',
        }), ["filter/bloom.cc:1"])

    def test_filter_rooms_include_what_they_name_and_no_more(self):
        self.assertEqual(self.places(include_rules, {
            "filter/CMakeLists.txt": "filter_room(base)\nfilter_room(kinds base)\n"
                                     "filter_room(top kinds)\n",
            "filter/base/memo.h": '#include "filter/kinds/kind.h"\n',
            "filter/kinds/kind.h": '#include "filter/base/memo.h"\n'
                                   '#include "winnow/filter/kind_names.h"\n'
                                   '#include "winnow/filter/builder.h"\n',
            "filter/builder.cc": '#include "filter/kinds/kind.h"\n#include "filter/base/memo.h"\n',
            "filter/include/winnow/filter/builder.h": "",
            "filter/include/winnow/filter/kind_names.h": "",
        }), ["filter/base/memo.h:1", "filter/builder.cc:2", "filter/kinds/kind.h:3"])

    def test_engine_sees_the_ground_floor_only_where_it_links_it(self):
        self.assertEqual(self.places(include_rules, {
            "engine/memtable/memtable.cc": '#include "filter/base/mutex.h"\n',
            "engine/file_system/posix_io.cc": '#include "filter/base/mutex.h"\n',
        }), ["engine/file_system/posix_io.cc:1"])

    def test_engine_sees_public_filter_headers_only_where_it_links_them(self):
        self.assertEqual(self.places(include_rules, {
            "engine/memtable/memtable.cc": '#include "winnow/filter/hash.h"\n',
            "engine/file_system/posix_io.cc": '#include "winnow/filter/hash.h"\n',
            "engine/db/open.cc": '#include "filter/bloom.h"\n',
        }), ["engine/db/open.cc:1", "engine/file_system/posix_io.cc:1"])

    def test_peers_stay_in_the_comparison(self):
        self.assertEqual(self.places(include_rules, {
            "engine/db/open.cc": "#include <rocksdb/db.h>\n",
            "tools/winnow_bench/engine_rocksdb.cc": "#include <rocksdb/db.h>\n",
            "engine/db/put.cc": "#include <wiredtiger.h>\n",
            "tools/winnow_bench/engine_lmdb.cc": "#include <lmdb.h>\n",
        }), ["engine/db/open.cc:1", "engine/db/put.cc:1"])

    def test_public_header_includes_public_headers_only(self):
        self.assertEqual(self.places(include_rules, {
            "engine/include/winnow/db.h": '#include "engine/base/status.h"\n',
        }), ["engine/include/winnow/db.h:1"])

    def test_bench_includes_what_it_shares_with_tools_only(self):
        self.assertEqual(self.places(include_rules, {
            "bench/filter/table.cc": '#include "tools/report/text_table.h"\n'
                                     '#include "tools/winnow/output.h"\n',
            "tools/report/text_table.cc": '#include "tools/report/text_table.h"\n'
                                          '#include "engine/base/status.h"\n',
            "tools/winnow/get.cc": '#include "tools/report/text_table.h"\n',
        }), ["bench/filter/table.cc:2", "tools/report/text_table.cc:2"])

    @needs_ctags
    def test_names_of_one_room_that_meet_are_found(self):
        amount = "namespace winnow {\nnamespace {\n%s\n}\n}\n"
        self.assertEqual(self.places(unity_names, {
            "engine/CMakeLists.txt": ENGINE_FOLDERS +
                "set(private_to_libwinnow base/alone)\n"
                "list(APPEND own_units base/alone_too.cc)\n",
            "engine/base/text.cc": amount % "int Amount(double value) { return 1; }",
            "engine/base/report.cc": amount % "int Amount(double count) { return 2; }",
            "engine/base/overload.cc": amount % "int Amount(int count) { return 3; }",
            "engine/base/member.cc": amount % "class A { int Amount(double v) { return 4; } };",
            "engine/base/alone.cc": amount % "int Amount(double value) { return 5; }",
            "engine/base/alone_too.cc": amount % "int Amount(double value) { return 6; }",
            "engine/db/other_room.cc": amount % "int Amount(double value) { return 7; }",
        }), ["engine/base/text.cc:3"])

    @needs_ctags
    def test_function_that_nothing_uses_is_found(self):
        self.assertEqual(self.places(unused_functions, {
            "engine/base/coding.h": "void Forgotten();\n"
                                    "int Again(int n) { return n == 0 ? 0 : Again(n - 1); }\n"
                                    "void Called();\n"
                                    "void Passed();\n",
            "engine/base/coding.cc": "void Forgotten() {}\n"
                                     "void Called() {}  // Forgotten() is no use\n"
                                     'void Passed() { Print("Forgotten()"); }\n',
            "tools/winnow/get.cc": "int main() { Called(); Run(&Passed); }\n",
        }), ["engine/base/coding.h:1", "engine/base/coding.h:2"])

    @needs_ctags
    def test_function_that_only_tests_use_is_found(self):
        self.assertEqual(self.places(unused_functions, {
            "engine/cache/arena.h": "class Arena {\n public:\n  Arena() {}\n"
                                    "  int used_bytes() const { return used_; }\n"
                                    "  int free_bytes() const { return 1; }\n"
                                    "  void Release() override;\n};\n",
            "engine/cache/cache.cc": "int Free(Arena& arena) { return arena.free_bytes(); }\n"
                                     "int free_too = Free(arena);\n",
            "engine/include/winnow/cache.h": "class Cache {\n  int hits() const;\n};\n",
            "tests/engine/arena_test.cc": "int used = Arena().used_bytes();\n",
        }), ["engine/cache/arena.h:4"])

    def test_unfinished_work_is_found(self):
        self.assertEqual(self.places(text_rules, {
            "engine/db/open.cc": "// " + "TO" + "DO: later\n",
        }), ["engine/db/open.cc:1"])

    def test_lock_that_guards_nothing_is_found(self):
        self.assertEqual(self.places(text_rules, {
            "engine/db/idle.h": "  mutable Mutex mutex_;\n  int count_;\n",
            "engine/db/good.h": "  Mutex mutex_;\n  int count_ ABSL_GUARDED_BY(mutex_);\n",
        }), ["engine/db/idle.h:1"])

    def test_lock_that_sanitizers_cannot_see_is_found(self):
        self.assertEqual(self.places(text_rules, {
            "engine/db/open.cc": '#include "absl/synchronization/mutex.h"\n',
        }), ["engine/db/open.cc:1"])

    def test_names_that_say_nothing_are_found(self):
        self.assertEqual(self.places(file_rules, {
            "engine/base/string_util.cc": "\n",
            "engine/base/utility_of_keys.cc": "\n",
        }), ["engine/base/string_util.cc"])

    def test_a_header_is_compiled_alone_unless_a_source_begins_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in {"engine/a.h": "", "engine/include/winnow/b.h": "",
                               "first.cc": '// Text.\n#include "engine/a.h"\n#include <map>\n',
                               "public.cc": '#include "winnow/b.h"\n',
                               "second.cc": '#include <map>\n#include "engine/a.h"\n',
                               "foreign.cc": '#include "elsewhere.h"\n'}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            command = ["clang++", "-I.", f"-I{root}/engine/include"]
            found = {name: compile_check.first_included(SourceTree(root, jobs=1),
                                                        pathlib.Path(name), command)
                     for name in ("first.cc", "public.cc", "second.cc", "foreign.cc")}
        self.assertEqual(found, {"first.cc": pathlib.Path("engine/a.h"),
                                 "public.cc": pathlib.Path("engine/include/winnow/b.h"),
                                 "second.cc": None, "foreign.cc": None})

    def test_sources_are_compiled_together_and_alone_where_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            names = [f"engine/db/{letter}.cc" for letter in "abcdefghij"] + ["engine/log/only.cc"]
            for name in names:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("", encoding="utf-8")
            commands = root / compile_check.COMPILE_COMMANDS
            commands.parent.mkdir(parents=True)
            commands.write_text(json.dumps(
                [{"file": str(root / name), "command": f"g++ -I. -c {name}"} for name in names]),
                encoding="utf-8")
            tree = FakeCompiler(root, refuses=("engine+db+a.cc", "db/c.cc"))
            found = compile_check.violations(tree)
        self.assertEqual([where for where, _ in found], ["engine/db/c.cc"])
        self.assertEqual(sorted(tree.compiled), sorted(
            ["build/lint/engine+db+a.cc", "build/lint/engine+db+i.cc", *names[:8], names[10]]))

    def test_huge_file_is_found(self):
        self.assertEqual(self.places(file_rules, {"engine/db/all.cc": "int x;\n" * 801}),
                         ["engine/db/all.cc:801"])

    def test_unknown_top_level_name_is_found(self):
        self.assertEqual(self.places(file_rules, {"notes.txt": "\n"}), ["notes.txt"])


if __name__ == "__main__":
    unittest.main()
