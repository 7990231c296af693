"""A gang over two hosts, with a third free, for hours: kills of everything, and a bad network.

usage: endurance_test.py SWITCH PROGRAMS KillsTest|BadNetworkTest

DTRAIN_KILLS: how many kills, 1,000 if not set. DTRAIN_BAD_NETWORK_SECONDS: how long the network is bad, an hour if not
set. DTRAIN_TEST_SEED draws the same kills at the same moments again.
"""

import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable

import namespaces
import recovery
from cluster import ENDED

from lab import Lab

SWITCH = PROGRAMS = pathlib.Path()
KILLS = int(os.environ.get("DTRAIN_KILLS") or 1000)
BAD_NETWORK_SECONDS = float(os.environ.get("DTRAIN_BAD_NETWORK_SECONDS") or 3600)
# 50 ms and 20 more or less, one frame of 20 lost, one of ten later than those behind it.
BAD_NETWORK = {"delay": 50, "jitter": 20, "loss": 5, "reorder": 10}
LOAD = 4  # processes that compute beside it
STEPS = 4000
# No kill after this step, so that the last attempt has some of its own.
STEPS_WITH_KILLS = 3500
KILLS_OF_A_TRIAL = 8
# Kills of a hundred, by what they hit. A cut takes the longest to be over.
SHARES = {"trainer": 46, "worker": 20, "host": 10, "cut": 5, "pair": 5, recovery.MOVED: 14}
HEAL_THEMSELVES = ("trainer", recovery.MOVED)
# The share of kills that are followed by another one before the gang trains again.
TWICE = 0.3
SECONDS_BETWEEN_TWO = 3.0


class KillsTest(unittest.TestCase):
    """Trials with kills at random moments: each ends with the losses of an undisturbed one."""

    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="dtrain-hosts-"))
        self.lab = self.enterContext(Lab(SWITCH, pathlib.Path(folder), recovery.HOSTS))
        self.draw = random.Random(self.lab.seed)
        self.gang = recovery.Gang(self.lab, PROGRAMS)
        self.counts: collections.Counter[str] = collections.Counter()

    def submit(self) -> str:
        return self.gang.submit("ddp", STEPS, "{every: 500}")

    def draw_kill(self) -> str:
        return self.draw.choices(list(SHARES), list(SHARES.values()))[0]

    def kill(self, name: str) -> Callable[[], None]:
        """Kills this; returns what repairs it."""
        self.counts[name] += 1
        if name != recovery.MOVED:
            return recovery.HITS[name](self.gang)
        self.gang.cluster.coordinator.kill()
        self.gang.cluster.start_coordinator()
        return lambda: None

    def break_once(self) -> None:
        """Kills once or twice, waits until the gang trains again, and repairs."""
        cluster, trial = self.gang.cluster, self.gang.trial
        attempt = cluster.trial(trial)["attempts"]
        kills = [self.draw_kill()]
        repairs = [self.kill(kills[0])]
        if self.draw.random() < TWICE:
            threading.Event().wait(self.draw.uniform(0, SECONDS_BETWEEN_TWO))
            if cluster.trial(trial)["state"] not in ENDED:
                # A worker or a host that is gone cannot be hit again.
                kills.append(self.draw_kill() if kills[0] in HEAL_THEMSELVES else recovery.MOVED)
                repairs.append(self.kill(kills[1]))
        ends_it = any(kill != recovery.MOVED for kill in kills)
        cluster.await_attempt(trial, attempt + 1 if ends_it else attempt)
        for repair in repairs:
            repair()
        cluster.await_workers(len(recovery.WORKER_HOSTS))

    def test_every_step_counts_once_with_the_losses_of_an_undisturbed_run(self):
        ended = self.gang.cluster.await_end(self.submit())
        expected = self.gang.cluster.losses(self.gang.trial)
        self.assertEqual((ended["state"], len(expected)), ("finished", STEPS), ended["explanation"])
        attempts = 0
        while self.counts.total() < KILLS:
            trial = self.submit()
            for _ in range(KILLS_OF_A_TRIAL):
                now = self.gang.await_steps(1 + self.draw.randrange(2 * recovery.STEPS_BEFORE))
                if now["state"] in ENDED or now["step"] > STEPS_WITH_KILLS:
                    break
                self.break_once()
            ended = self.gang.cluster.await_end(trial)
            self.assertEqual(ended["state"], "finished", f"{ended['explanation']}\n{self.gang.cluster.logs()}")
            self.assertEqual(self.gang.cluster.losses(trial), expected, f"trial {trial}, {dict(self.counts)}")
            attempts += ended["attempts"]
            print(f"{self.counts.total()} kills, {attempts} attempts: {dict(self.counts)}", flush=True)


class BadNetworkTest(unittest.TestCase):
    """A gang trains over a network that delays, loses and reorders, on a machine that computes something else."""

    def test_nobody_is_taken_for_lost(self):
        with tempfile.TemporaryDirectory(prefix="dtrain-hosts-") as folder:
            with Lab(SWITCH, pathlib.Path(folder), recovery.HOSTS) as lab:
                gang = recovery.Gang(lab, PROGRAMS)
                gang.submit("ddp", checkpoint="")
                gang.await_steps(recovery.STEPS_BEFORE)
                lab.rule("*", "*", **BAD_NETWORK)
                busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOAD)]
                try:
                    threading.Event().wait(BAD_NETWORK_SECONDS)
                    lab.heal()
                finally:
                    for process in busy:
                        process.kill()
                        process.wait(timeout=30)
                ended = gang.await_steps(recovery.STEPS_BEFORE)
                self.assertEqual(ended["attempts"], 1, f"{ended['explanation']}\n{gang.cluster.logs()}")
                print(f"{ended['step']} steps in {BAD_NETWORK_SECONDS:.0f} s and some, one attempt")
                gang.cancel()
                steps = gang.committed_steps()
                self.assertEqual(steps, list(range(1, len(steps) + 1)))


if __name__ == "__main__":
    namespaces.enter()
    SWITCH, PROGRAMS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main(verbosity=2)
