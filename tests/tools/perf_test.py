"""`tools/dev perf`: wrong arguments, the shape of what it prints and keeps, and its arithmetic.

perf_test.py WINNOW_BENCH: the program, for a small run of some rows. All rows are run with a
program in its place that answers at once.
"""

import json
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PERF = ROOT / "tools/development/perf"
sys.dont_write_bytecode = True
sys.path[:0] = [str(PERF), str(PERF.parent)]

import flags  # noqa: E402
import instructions  # noqa: E402
import measure  # noqa: E402
import plots  # noqa: E402
import rows  # noqa: E402
import styles  # noqa: E402
import tables  # noqa: E402

# Speaks as winnow_bench does: each engine takes as many microseconds as its place in the list, and
# far more with statistics.
STAND_IN = '''#!{python} -IS
import json, pathlib, sys
engines = {engines}
if "--help" in sys.argv:
    print("It runs.\\n\\nEngines in this build")
    print("".join(f"  {{name}} 1.0 ({{note}})\\n" for name, note in engines.items()))
    print("What to run")
    sys.exit(0)
flags = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:] if "=" in word)
if flags["engine"] == {broken!r}:
    print("winnow_bench: " + flags["engine"] + ": disk on fire", file=sys.stderr)
    sys.exit(1)
micros = 1.0 + list(engines).index(flags["engine"]) + 50.0 * ("--statistics" in sys.argv)
result = dict(engine=flags["engine"], micros_per_op=micros, ops_per_sec=1e6 / micros, p999_us=9.0,
              ops=1000, space_bytes=1 << 20, filter=dict(false_positive=10), data_blocks_read=70,
              read_ops=80, max_us=9000.0, open_us=70.0, write_amplification=3.0, peak_rss_bytes=1 << 20,
              durability="log, unsynced" if "fillrandom" in flags["benchmarks"] else None)
machine = dict(cpu="a processor", num_cpus=2, memory_bytes=1 << 30, os="an OS",
               compiler="a compiler")
results = [dict(result, benchmark=name) for name in flags["benchmarks"].split(",")]
pathlib.Path(flags["json"]).write_text(json.dumps(dict(machine=machine, results=results)))
'''
ENGINES = {"winnow": "", "rocksdb": "assertions on: slow", "rocksdb_tuned": "", "lmdb": "",
           "leveldb": "", "winnow_leveldb": "", "winnow_mapped": ""}


class PerfTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def run_perf(self, *words):
        """Its exit code and output; files that no flag names go into the scratch folder."""
        done = subprocess.run([sys.executable, "-B", PERF, *words], cwd=self.folder, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout + done.stderr

    def stand_in(self, broken=""):
        program = self.folder / "winnow_bench"
        program.write_text(STAND_IN.format(python=sys.executable, engines=ENGINES, broken=broken))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return f"--program={program}"

    def test_wrong_arguments_name_what_is_meant(self):
        for words, wanted in (
                (["--rownds=2"], "did you mean '--rounds'?"),
                (["--rows=readmising"], "did you mean 'readmissing'?"),
                (["--rows="], "--rows wants a value"),
                (["--engine=rockdb"], "did you mean 'rocksdb'?"),
                (["--num=0"], "--num wants a number above 0, not '0'"),
                (["--num=5M"], "--num wants a number above 0, not '5M'"),
                (["--quick=yes"], "--quick takes no value"),
                (["--quick", "--num=5"], "--quick is a size of its own"),
                (["--from_json=x", "--rounds=2"], "leave out --rounds"),
                (["scale", "--from_json=x", "--keys=2"], "leave out --keys"),
                (["scale", "--keys=1,"], "--keys wants numbers with commas"),
                (["scales"], "did you mean 'scale'?"),
                (["stiles"], "did you mean 'styles'?"),
                (["instructions", "--quick"], "unknown argument '--quick'"),
                (["readmissing"], "unknown command 'readmissing'")):
            for check in ([], ["--check"]):
                with self.subTest(words=words):
                    code, output = self.run_perf(*check, *words)
                    self.assertEqual(code, 2, output)
                    self.assertIn(wanted, output)
                    self.assertIn("See: tools/dev perf --help", output)

    def test_every_row_is_measured_and_compared_with_each_peer(self):
        code, output = self.run_perf(self.stand_in(), "--large", "--num=1000", "--rounds=2")
        self.assertEqual(code, 0, output)
        report = json.loads((self.folder / "build/perf/perf.json").read_text())
        self.assertEqual([row["name"] for row in report["rows"]],
                         [row.name for row in rows.ROWS + rows.LARGE_ROWS])
        for row in report["rows"]:
            with self.subTest(row=row["name"]):
                wanted = rows.peers_of(next(r for r in rows.ROWS + rows.LARGE_ROWS
                                            if r.name == row["name"]), ENGINES)
                self.assertEqual(set(row["values"]), set(wanted))
                self.assertTrue(all(len(values) == 2 for values in row["values"].values()))
        present = next(row for row in report["rows"] if row["name"] == "readrandom_small")
        self.assertEqual(present["medians"]["winnow"], 1)
        self.assertEqual(present["ratios"]["lmdb"], 4)
        self.assertEqual(present["goal"], 1.5)
        self.assertAlmostEqual(present["of_goal"], 1 / 1.5)
        self.assertIn("2 interleaved rounds", output)
        self.assertRegex(output, r"readrandom, 32 MiB cache +us +1\.00 +0% +7\.00 \(7\.00x\)"
                                 r" +2\.00 \(2\.00x\)")
        self.assertIn("rocksdb*", output)
        self.assertIn("Writes of leveldb, lmdb", output)
        self.assertIn("Left out: wiredtiger is not in this build (install libwiredtiger-dev).",
                      output)
        self.assertNotIn("\r", output, "progress belongs on a terminal")
        page = (self.folder / "build/perf/perf.html").read_text()
        self.assertIn("<svg", page)
        self.assertIn("a processor", page)
        self.assertEqual(list((self.folder / "build").glob("perf-databases-*")), [])

    def test_a_contender_that_fails_is_left_out_and_said(self):
        code, output = self.run_perf(self.stand_in(broken="lmdb"), "--rows=readrandom,fill100k",
                                     "--num=1000", "--rounds=2")
        self.assertEqual(code, 1, output)
        self.assertIn("FAILED: lmdb, data: winnow_bench: lmdb: disk on fire", output)
        rows_kept = json.loads((self.folder / "build/perf/perf.json").read_text())["rows"]
        for row in rows_kept:
            self.assertNotIn("lmdb", row["values"])
            self.assertEqual(len(row["values"]["leveldb"]), 2)

    def test_what_was_kept_becomes_a_section_of_a_readme(self):
        code, output = self.run_perf(self.stand_in(), "--rows=readmissing", "--num=1000",
                                     "--rounds=2", "--json=kept.json")
        self.assertEqual(code, 0, output)
        code, output = self.run_perf("--from_json=kept.json", "--markdown=table.md",
                                     "--plot=plot.svg")
        self.assertEqual(code, 0, output)
        section = (self.folder / "table.md").read_text()
        self.assertIn("`tools/dev perf --num=1000 --rounds=2 --rows=readmissing`", section)
        self.assertIn("| readmissing, cached | us | **1.00** | 2.00 (2.00x) |", section)
        self.assertIn("](plot.svg)", section)
        self.assertTrue((self.folder / "plot.svg").read_text().startswith("<svg "))
        (self.folder / "kept.json").write_text("{")
        code, output = self.run_perf("--from_json=kept.json")
        self.assertEqual((code, output.count("\n")), (1, 1), output)

    def test_a_long_measurement_goes_in_parts(self):
        for row in ("readmissing", "readrandom"):
            code, output = self.run_perf(self.stand_in(), f"--rows={row}", "--num=1000",
                                         "--rounds=2", "--in_parts")
            self.assertEqual(code, 0, output)
        report = json.loads((self.folder / "build/perf/perf.json").read_text())
        self.assertEqual([row["name"] for row in report["rows"]], ["readrandom", "readmissing"])
        self.assertTrue(report["command"].endswith("--rows=readrandom,readmissing"))
        self.assertIn("readmissing, cached", output)
        code, output = self.run_perf(self.stand_in(), "--rows=seek", "--num=1000", "--rounds=3",
                                     "--in_parts")
        self.assertEqual(code, 1, output)
        self.assertIn("--rounds=2: parts of one measurement have the same", output)

    def test_curves_have_a_point_for_each_size(self):
        code, output = self.run_perf("scale", self.stand_in(), "--keys=1000,2000", "--rounds=2",
                                     "--engine=leveldb")
        self.assertEqual(code, 0, output)
        report = json.loads((self.folder / "build/perf/scale.json").read_text())
        for by_engine in report["curves"].values():
            self.assertEqual(list(by_engine), ["winnow", "leveldb"])
            for points in by_engine.values():
                self.assertEqual([point["keys"] for point in points], [1000, 2000])
        self.assertRegex(output, r"opening, files in the page cache +ms +winnow +0\.070 +0\.070")
        self.assertEqual((self.folder / "build/perf/scale.html").read_text().count("<polyline"), 12)

    def test_kept_curves_become_a_section_of_a_readme(self):
        for command in ("scale", "styles"):
            code, output = self.run_perf(command, self.stand_in(), "--keys=1000,2000", "--rounds=1",
                                         "--engine=rocksdb")
            self.assertEqual(code, 0, output)
            code, again = self.run_perf(command, f"--from_json=build/perf/{command}.json",
                                        "--markdown=section.md", "--plot=curves.svg")
            self.assertEqual(code, 0, again)
            self.assertEqual(again, output)
            section = (self.folder / "section.md").read_text()
            self.assertIn(f"`tools/dev perf {command} --keys=1000,2000 --rounds=1 "
                          "--engine=rocksdb`", section)
            self.assertIn("](curves.svg)", section)
            lines = [line for line in section.splitlines() if line.startswith("|")]
            self.assertEqual({line.count("|") for line in lines}, {lines[0].count("|")})
            picture = (self.folder / "curves.svg").read_text()
            page = (self.folder / f"build/perf/{command}.html").read_text()
            self.assertEqual(picture.count("<polyline"), page.count("<polyline"))
            ElementTree.fromstring(picture)

    def test_styles_of_both_engines_stand_beside_each_other(self):
        code, output = self.run_perf("styles", self.stand_in(), "--keys=1000,2000", "--rounds=2")
        self.assertEqual(code, 0, output)
        report = json.loads((self.folder / "build/perf/styles.json").read_text())
        for by_style in report["curves"].values():
            self.assertEqual(list(by_style), [name for name, _, _ in styles.STYLES])
            for points in by_style.values():
                self.assertEqual([point["keys"] for point in points], [1000, 2000])
        self.assertRegex(output, r"1,000 +winnow lazy_leveled +1\.00 +3\.00 +3\.00 ")
        self.assertRegex(output, r"2,000 +rocksdb universal\* ")
        page = (self.folder / "build/perf/styles.html").read_text()
        self.assertEqual(page.count("<polyline"), 5 * len(styles.STYLES))

    def test_less_memory_is_measured_without_what_slows_one_engine(self):
        code, output = self.run_perf("memory", self.stand_in(), "--num=1000", "--rounds=2")
        self.assertEqual(code, 0, output)
        report = json.loads((self.folder / "build/perf/memory.json").read_text())
        for line in report["lines"]:
            self.assertEqual({engine: found["micros"] for engine, found in line["engines"].items()},
                             {"winnow": 1, "rocksdb": 2})
            self.assertEqual(line["engines"]["rocksdb"]["reads_in_vain"], 0.08)
        self.assertRegex(output, r"1/3 of 10 bits a key +0\.0800 +1\.000 +1\.000 +0\.0800 +"
                                 r"2\.000 \(2\.0x\) +2\.000 \(2\.0x\)")

    def test_a_small_run_with_the_program_itself(self):
        chosen = "--rows=readmissing,tail_longest,fillrandom_volume,ycsbe_leveldb"
        code, output = self.run_perf(f"--program={WINNOW_BENCH}", "--quick", "--engine=leveldb",
                                     chosen, f"--db={self.folder}/databases")
        self.assertEqual(code, 0, output)
        report = json.loads((self.folder / "build/perf/perf.json").read_text())
        self.assertGreaterEqual(len(report["rows"]), 3)  # winnow_leveldb is not in every build
        for row in report["rows"]:
            self.assertGreater(row["medians"][row["subject"]], 0, row)
        self.assertFalse((self.folder / "databases").exists())

    def test_small_curves_with_the_program_itself(self):
        for command, sizes in (("styles", ["--keys=1000,2000"]), ("scale", ["--keys=1000,2000"]),
                               ("memory", ["--num=2000"])):
            code, output = self.run_perf(command, f"--program={WINNOW_BENCH}", "--rounds=1", *sizes,
                                         "--engine=rocksdb", f"--db={self.folder}/databases")
            self.assertEqual(code, 0, output)
            self.assertNotIn("FAILED", output)
            self.assertRegex(output, "winnow")

    def test_an_interrupted_curve_shows_what_was_measured(self):
        # The first program it starts after the first size interrupts it.
        program = self.folder / "interrupts"
        program.write_text(f"""#!/bin/sh
case "$*" in *--num=2000*) kill -TERM $PPID; sleep 60;; esac
exec {self.stand_in().removeprefix("--program=")} "$@"
""")
        program.chmod(0o755)
        for command in ("styles", "scale"):
            code, output = self.run_perf(command, f"--program={program}", "--keys=1000,2000",
                                         "--rounds=1", "--engine=rocksdb")
            self.assertEqual(code, 130, output)
            self.assertRegex(output, r"1,000")
            report = json.loads((self.folder / f"build/perf/{command}.json").read_text())
            for by_name in report["curves"].values():
                for points in by_name.values():
                    self.assertEqual([point["keys"] for point in points], [1000])

    def test_a_folder_that_holds_something_is_left_alone(self):
        code, output = self.run_perf(self.stand_in(), "--quick", f"--db={self.folder}")
        self.assertEqual(code, 1, output)
        self.assertIn("is not empty", output)
        self.assertTrue((self.folder / "winnow_bench").exists())


class GoalTest(unittest.TestCase):
    ROW = rows.Row("name", "title", rows.CACHED, "readrandom", at_most=1.5,
                   times=(("rocksdb", 3), ("leveldb", 2)))

    def test_a_goal_is_the_hardest_of_its_figure_and_its_peers(self):
        self.assertEqual(rows.goal_of(self.ROW, {"rocksdb": 9.0}), 1.5)
        self.assertEqual(rows.goal_of(self.ROW, {"rocksdb": 9.0, "rocksdb_tuned": 3.0}), 1.0)
        self.assertEqual(rows.goal_of(self.ROW, {"rocksdb": 9.0, "leveldb": 1.0}), 0.5)
        self.assertEqual(rows.goal_of(self.ROW, {}), 1.5)

    def test_rows_have_names_of_their_own_and_are_chosen_in_order(self):
        names = [row.name for row in rows.ROWS + rows.LARGE_ROWS]
        self.assertEqual(len(set(names)), len(names))
        chosen = flags.chosen_rows({"rows": "ycsba,readmissing"})
        self.assertEqual([row.name for row in chosen], ["readmissing", "ycsba"])

    def test_a_row_has_what_it_is_beside_when_it_is_chosen_alone(self):
        class Recorder(measure.Bench):
            def run(self, engine, benchmarks, flags):
                return benchmarks

        bench = Recorder("winnow_bench", pathlib.Path("nowhere"))
        self.assertEqual(
            bench.run_setting("winnow", rows.RANGES, ["readmissing"], 100_000, round_number=1),
            ["fillrandom", "compact", "deleterange", "readmissing"])

    def test_a_zero_has_no_place_on_a_logarithmic_scale(self):
        plot = plots.line_plot("title", "keys", "", {"winnow": [(1, 0), (2, 3), (3, 4)],
                                                     "rocksdb": [(1, 0)]})
        self.assertEqual(plot.count("<title>"), 2 + 2)  # in the legend, and on the curve

    def test_ticks_of_keys_are_short(self):
        self.assertEqual([plots.count_text(tick) for tick in (500, 2_000, 200_000, 100_000_000)],
                         ["500", "2 k", "200 k", "100 M"])

    def test_ticks_of_a_scale_are_round_and_inside(self):
        scale = plots.LogScale([0.06, 7], 0, 100)
        self.assertEqual([round(tick, 3) for tick in scale.ticks()],
                         [0.05, 0.1, 0.2, 0.5, 1, 2, 5])
        self.assertTrue(all(0 <= scale(tick) <= 100 for tick in scale.ticks()))

    def test_small_figures_keep_three_digits(self):
        self.assertEqual([tables.number(value) for value in (0.0704, 1.5, 2345.6, None)],
                         ["0.070", "1.50", "2,346", ""])


class InstructionsTest(unittest.TestCase):
    def test_both_a_loss_and_a_gain_are_told(self):
        self.assertEqual([instructions.verdict(100, now) for now in (101.9, 98.1, 102.1, 97.9)],
                         ["as kept", "as kept", "MORE", "fewer"])
        self.assertEqual(instructions.verdict(None, 5), "new")

    def test_the_kept_counts_are_of_every_operation(self):
        kept = json.loads(instructions.KEPT.read_text())
        source = (ROOT / "bench/engine/instruction_counts.cc").read_text()
        for name in kept["instructions_per_operation"]:
            self.assertIn(f"void measured_{name}(", source)
        self.assertEqual(source.count("void measured_"), len(kept["instructions_per_operation"]))


if __name__ == "__main__":
    WINNOW_BENCH = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
