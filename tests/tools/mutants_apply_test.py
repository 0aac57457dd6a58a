"""Every mutant of `tools/dev mutants` applies to its source, and names tests that exist.

mutants_apply_test.py BUILD: a build directory, whose tests count as existing
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/development"))

import mutant_patch  # noqa: E402
import mutant_run  # noqa: E402
import mutants as command  # noqa: E402

BUILD = pathlib.Path(sys.argv[1])
TEXT = """what goes wrong
caught by: a_test b_test
engine/log.cc
--- original
if (ok) Sync(file);
+++ mutated
"""


def mutant(original, mutated):
    return mutant_patch.Mutant("folder/name", "", ["a_test"], "engine/log.cc", original, mutated)


class Tree(unittest.TestCase):
    def test_every_mutant_can_be_read(self):
        mutants, problems = mutant_patch.read_all()
        self.assertEqual(problems, [])
        self.assertGreater(len(mutants), 0)

    def test_every_mutant_applies_and_has_tests(self):
        mutants, _ = mutant_patch.read_all()
        known_tests = mutant_run.programs_of_tests(BUILD)
        self.assertEqual(mutant_patch.problems_of(mutants, known_tests), [])


class Patch(unittest.TestCase):
    def test_is_read(self):
        self.assertEqual(
            mutant_patch.parse("folder/name", TEXT),
            mutant_patch.Mutant("folder/name", "what goes wrong", ["a_test", "b_test"],
                                "engine/log.cc", "if (ok) Sync(file);", ""))
        self.assertEqual(mutant_patch.parse("name", TEXT + "Flush();\nClose();\n").mutated,
                         "Flush();\nClose();")

    def test_in_another_form_is_refused(self):
        for part in ("caught by: a_test b_test\n", "engine/log.cc\n", "--- original\n",
                     "+++ mutated\n"):
            with self.assertRaises(mutant_patch.Stale):
                mutant_patch.parse("name", TEXT.replace(part, ""))

    def test_replaces_the_original_alone(self):
        self.assertEqual(mutant_patch.apply(mutant("b();", "c();"), "a();\n  b();\n"),
                         "a();\n  c();\n")
        self.assertEqual(mutant_patch.apply(mutant("b();", ""), "{ b(); }"), "{  }")

    def test_does_not_mind_white_space(self):
        self.assertEqual(mutant_patch.apply(mutant("return a(b,\nc) > 0;", "return true;"),
                                            "  return a(\n      b, c) >\n  0;\n"),
                         "  return true;\n")

    def test_matches_whole_words(self):
        for text in ("unsync()", "syncs()"):
            with self.assertRaises(mutant_patch.Stale):
                mutant_patch.apply(mutant("sync", "flush"), text)
        with self.assertRaises(mutant_patch.Stale):
            mutant_patch.apply(mutant("return x", "return y"), "returnx")

    def test_must_apply_once_and_change_something(self):
        for original, mutated, complaint in (("b();", "", "stands 0 times"),
                                             ("a();", "", "stands 2 times"),
                                             ("c();", "c ();", "changes nothing")):
            with self.assertRaisesRegex(mutant_patch.Stale, complaint):
                mutant_patch.apply(mutant(original, mutated), "a(); a(); c ();")

    def test_problems_are_reported(self):
        missing = mutant("a", "b")._replace(path="engine/no_such_source.cc")
        problems = " ".join(mutant_patch.problems_of([missing], {"b_test": ""}))
        self.assertIn("there is no engine/no_such_source.cc", problems)
        self.assertIn("there is no test a_test", problems)


class Selection(unittest.TestCase):
    def test_is_by_part_of_the_name(self):
        mutants = [mutant("", "")._replace(name=name) for name in ("syncs/a_log", "errors/b_log")]
        self.assertEqual(command.selected(mutants, []), mutants)
        self.assertEqual(command.selected(mutants, ["syncs/"]), mutants[:1])
        self.assertEqual(command.selected(mutants, ["b_", "a_log"]), mutants)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
