"""Tests of bench/recovery: the cost of a hit from rows and attempts, the rows of its table, and a rehearsal.

usage: recovery_bench_test.py PROGRAMS SWITCH
"""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/hosts"), str(ROOT / "bench/recovery"), str(ROOT / "bench")]

import figures  # noqa: E402
import recovery  # noqa: E402  found only now
import recovery_bench  # noqa: E402

from recovery import Outcome, Row  # noqa: E402

START = recovery.seconds_of("2026-01-01T00:00:00Z")


def at(*rows: tuple[int, int, float]) -> list[Row]:
    return [Row(attempt, step, START + seconds) for attempt, step, seconds in rows]


class OutcomeTest(unittest.TestCase):
    def test_a_hit_that_ended_an_attempt_costs_until_the_first_step_of_the_next(self):
        rows = at((1, 1, 0), (1, 2, 1), (1, 3, 2), (2, 3, 7.5), (2, 4, 8), (3, 5, 20))
        attempts = [{"attempt": 1, "ended_at": "2026-01-01T00:00:04.250Z", "cause": "worker_lost"},
                    {"attempt": 2, "ended_at": None, "cause": None}]
        found = recovery.outcome(rows, attempts, START + 2.25, 1)
        self.assertEqual(found, Outcome(next_step=5.25, detected=2.0, lost_steps=1, cause="worker_lost"))

    def test_an_attempt_that_resumes_behind_its_last_step_lost_none(self):
        found = recovery.outcome(at((1, 3, 2), (2, 4, 3)), [{"attempt": 1, "ended_at": "2026-01-01T00:00:02Z",
                                                             "cause": "trainer_crash"}], START + 2, 1)
        self.assertEqual(found.lost_steps, 0)

    def test_a_hit_that_ended_nothing_costs_the_longest_gap_since(self):
        rows = at((1, 1, 0), (1, 2, 9), (1, 3, 12), (1, 4, 12.5))
        self.assertEqual(recovery.outcome(rows, [], START + 9.5, 1), Outcome(next_step=2.5))

    def test_nothing_committed_since_is_no_outcome(self):
        self.assertIsNone(recovery.outcome(at((1, 1, 0), (1, 2, 1)), [], START + 1, 1))


class TableTest(unittest.TestCase):
    def test_the_useful_share_is_the_time_of_steps_that_count_and_a_step_that_waited_counts_little(self):
        self.assertAlmostEqual(recovery.useful_share([(0.5, 1), (1.0, 2), (0.5, 1)], 4.0), 0.5)
        self.assertAlmostEqual(recovery.useful_share([(0.5, 1), (0.5, 1), (90.0, 1)], 100.0), 0.06)
        self.assertEqual(recovery.useful_share([], 4.0), 0.0)

    def test_a_percentile_is_one_of_the_values(self):
        self.assertEqual(figures.percentile([3, 1, 2], 0.99), 3)
        self.assertEqual(figures.percentile([3, 1, 2], 0.5), 2)

    def test_a_row_has_medians_and_counts_the_runs_that_recovered(self):
        found = [Outcome(1.0, 0.5, 2, "x"), Outcome(3.0, 0.75, 4, "x"), Outcome(9.0, 1.0, 9, "x"), None]
        self.assertEqual(recovery_bench.hit_row("ddp", "trainer", found),
                         "| ddp | trainer killed | 0.8 s | 3.0 s | 9.0 s | 4 | 3 of 4 |")
        self.assertEqual(recovery_bench.hit_row("ddp", "pair", [None]),
                         "| ddp | the two hosts cut from each other | no | never | never | – | 0 of 1 |")


class RehearsalTest(unittest.TestCase):
    def test_the_smallest_run_prints_the_machine_and_a_row_for_each_hit_and_period(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "bench/recovery/recovery_bench.py", "--programs", PROGRAMS,
                               "--switch", SWITCH, "--tiny", "--strategy", "program", "--hit", "trainer,worker"],
                              capture_output=True, text=True, timeout=500, check=False)
        if skipped := re.match("skipped: (.*)", done.stdout):
            self.skipTest(skipped[1])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^dtcoord \d.*; \d+ cores .*, Linux .*")
        for words in ("trainer killed", "worker killed, its host stays"):
            self.assertRegex(done.stdout, rf"\| program \| {words} \| [\d.]+ s \| [\d.]+ s .* \| 1 of 1 \|")
            self.assertRegex(done.stdout, rf"\| program \| {words} \| \d\.\d\d \|\n")

    def test_what_it_does_not_know_is_refused_with_the_choices(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "bench/recovery/recovery_bench.py", "--programs", PROGRAMS,
                               "--switch", SWITCH, "--hit", "trainer,moon"], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--hit: there is no moon; there are trainer, worker, host, cut, pair, coordinator", done.stderr)


if __name__ == "__main__":
    PROGRAMS, SWITCH = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
