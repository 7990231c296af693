"""Tests of tools/times.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import times  # noqa: E402


class TimesTest(unittest.TestCase):
    def test_the_newest_build_of_a_unit_counts_and_the_slowest_comes_first(self):
        log = ("# ninja log v5\n0\t9000\t1\ta.cc.o\tx\n0\t2000\t1\tb.cc.o\tx\n"
               "5\t1005\t2\ta.cc.o\tx\n0\t50000\t1\tprogram\tx\n")
        self.assertEqual(times.units(log), [(2.0, "b.cc.o"), (1.0, "a.cc.o")])

    def test_tests_that_never_ran_have_no_time(self):
        self.assertEqual(times.tests("quick 2 0.5\nslow 1 30\nnever 0 0\n---\nslow\n"),
                         [(30.0, "slow"), (0.5, "quick")])


if __name__ == "__main__":
    unittest.main()
