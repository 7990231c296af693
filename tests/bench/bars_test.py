"""Benchmarks that miss a bar name it and exit with 1.

usage: bars_test.py SCHEDULING SEARCH_BENCH
"""

import subprocess
import sys
import unittest

SECONDS = 90
PROGRAMS: list[str] = []


def run(*command: str) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.returncode, done.stdout + done.stderr


class Scheduling(unittest.TestCase):
    def row(self, bar: str) -> tuple[int, str]:
        return run(PROGRAMS[0], "--waiting", "100", "--placements", "50", "--rounds", "1", "--bar", bar)

    def test_a_row_that_reaches_its_bar_is_success(self):
        code, said = self.row("1")
        self.assertEqual(code, 0, said)
        self.assertNotIn("MISSED", said)

    def test_a_row_that_does_not_is_failure_and_marked(self):
        code, said = self.row("1e12")
        self.assertEqual(code, 1, said)
        self.assertIn("(bar 1000000000000)  MISSED", said)


class Search(unittest.TestCase):
    def test_the_end_is_the_verdict_and_each_bar_that_was_missed_is_named(self):
        codes = set()
        # With one seed, some bars are met and some are not.
        for part in (["ladder", "--ladder-seeds", "1"], ["population", "--seeds", "1"], ["population", "--seeds", "9"]):
            code, said = run(PROGRAMS[1], "--parts", *part)
            missed = [line for line in said.splitlines() if line.startswith(f"MISSED  {part[0]}: ")]
            self.assertEqual(code, 1 if missed else 0, said)
            self.assertEqual("every bar is met" in said, not missed, said)
            codes.add(code)
        self.assertEqual(codes, {0, 1})


if __name__ == "__main__":
    PROGRAMS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
