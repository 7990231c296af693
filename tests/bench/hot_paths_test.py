"""The coordinator's hot paths take no more instructions than they did in the last release.

usage: hot_paths_test.py HOT_PATHS

Skipped where valgrind is missing, or the compiler is another than that of the figures.
"""

import contextlib
import importlib.util
import io
import json
import pathlib
import sys
import unittest
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench/coordinator/hot_paths.py"
SPEC = importlib.util.spec_from_file_location("hot_paths", BENCH)
hot_paths = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hot_paths)
PROGRAMS: list[str] = []


def run(*arguments: str) -> tuple[int, str]:
    said = io.StringIO()
    with mock.patch.object(sys, "argv", ["hot_paths.py", *arguments]), contextlib.redirect_stdout(said):
        code = hot_paths.main()
    return code, said.getvalue()


class Comparison(unittest.TestCase):
    FIGURES = {"release": "0.1.0", "tolerance": 0.1, "instructions": {"place": 1000, "row": 100}}

    def worse(self, **counted: int) -> tuple[list[str], str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            return hot_paths.compare(counted, self.FIGURES), said.getvalue()

    def test_a_path_within_the_tolerance_is_no_miss(self):
        worse, said = self.worse(place=1100, row=50)
        self.assertEqual(worse, [])
        self.assertNotIn("MISSED", said)

    def test_a_path_beyond_it_is_named(self):
        worse, said = self.worse(place=1101, row=100)
        self.assertEqual(worse, ["place"])
        self.assertIn("+10.1 %  MISSED", said)

    def test_a_path_without_a_figure_is_printed_and_no_miss(self):
        worse, said = self.worse(place=1000, other=5)
        self.assertEqual(worse, [])
        self.assertIn("other", said)


class Counted(unittest.TestCase):
    def test_no_path_costs_more_than_in_the_last_release(self):
        code, said = run("--program", PROGRAMS[0])
        print(said)
        if code == hot_paths.SKIPPED:
            self.skipTest(said.splitlines()[0])
        self.assertEqual(code, 0, said)
        # Every path is counted, and has a figure.
        figures = json.loads((BENCH.parent / "hot_paths.json").read_text())["instructions"]
        self.assertTrue(all(name in said for name in figures), said)
        self.assertNotIn("–", said)


if __name__ == "__main__":
    PROGRAMS = sys.argv[1:2]
    unittest.main(argv=sys.argv[:1], verbosity=2)
