"""The table of `tools/dev mutants` and the markers in the code agree, and a build without planted
defects holds no trace of them.

planted_defects_test.py ON|OFF ARCHIVE…: whether this build plants defects, and its libraries
"""

import collections
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/development"))

import mutants  # noqa: E402

PLANTED, *ARCHIVES = sys.argv[1:]
TABLE = mutants.read_table((ROOT / "tools/development/mutants.txt").read_text(encoding="utf-8"))


class PlantedDefects(unittest.TestCase):
    def test_table_and_code_agree(self):
        self.assertEqual(mutants.disagreements(TABLE, mutants.markers()), [])

    def test_every_disagreement_is_told(self):
        defects = [mutants.Defect("twice", ["a_test"], ""), mutants.Defect("twice", ["a_test"], ""),
                   mutants.Defect("untested", [], ""), mutants.Defect("absent", ["a_test"], "")]
        found = collections.Counter({"twice": 1, "untested": 1, "unlisted": 1, "repeated": 2})
        told = " ".join(mutants.disagreements(defects, found))
        for part in ("twice stands in the table 2 times", "absent is in the table but not",
                     "unlisted is in the code but not", "repeated is in 2 files",
                     "untested has no test program"):
            self.assertIn(part, told)

    def test_a_line_of_the_table_is_read(self):
        self.assertEqual(mutants.read_table("# a comment\n\nname  a_test b_test  what goes wrong\n"),
                         [mutants.Defect("name", ["a_test", "b_test"], "what goes wrong")])

    def test_only_a_planted_build_knows_the_names(self):
        libraries = b"".join(pathlib.Path(archive).read_bytes() for archive in ARCHIVES)
        known = [defect.name for defect in TABLE if defect.name.encode() in libraries]
        self.assertEqual(known, [defect.name for defect in TABLE] if PLANTED == "ON" else [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
