"""Gangs over two hosts, under TLS: whatever happens to hosts and network, each step counts once, with its losses.

usage: gang_test.py SWITCH PROGRAMS GangTest|TableTest

TableTest prints how long each fault takes to be noticed and to be over. It takes some minutes.
"""

import pathlib
import sys
import tempfile
import unittest

import namespaces
import recovery
from cluster import FILE, PATIENCE_SECONDS, Cluster
from lab import Lab

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402

SWITCH = PROGRAMS = pathlib.Path()
# Few, for a machine that has much else to do; the network's delay makes them last on one that has not.
STEPS = 150
DELAY_MS = 5
# Frames of a cut connection that the switch has dropped: it is sent again after 0.2, 0.6, 1.4 and 3 seconds.
DROPPED_FRAMES = 4


class GangTest(unittest.TestCase):
    """A coordinator on alpha; a worker each on beta and gamma."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dtrain-hosts-"))
        cls.lab = cls.enterClassContext(Lab(SWITCH, pathlib.Path(folder), ["alpha", "beta", "gamma"]))
        cls.cluster = Cluster(cls.lab, PROGRAMS, "alpha")
        cls.cluster.start_coordinator()
        cls.cluster.make_data()
        for host in ("beta", "gamma"):
            cls.cluster.start_worker(host)
        cls.cluster.await_workers(2)
        trial = cls.submit("undisturbed")
        ended = cls.cluster.await_end(trial)
        cls.undisturbed = cls.cluster.losses(trial)
        if ended["state"] != "finished" or len(cls.undisturbed) != STEPS:
            raise AssertionError(f"the undisturbed run: {ended['explanation']}\n{cls.cluster.logs()}")

    def tearDown(self) -> None:
        self.lab.heal()
        if any(error for _, error in self._outcome.result.failures + self._outcome.result.errors):
            print(self.cluster.logs(), file=sys.stderr)

    @classmethod
    def submit(cls, name: str) -> str:
        return cls.cluster.submit(FILE.format(name=name, ranks=2, batch=4, steps=STEPS, checkpoint="{every: 20}"), name)

    def disturb(self, name: str, hit) -> dict:
        """Submits a gang, calls hit(trial) once it has a checkpoint; returns the trial once it has finished.

        A run which ended before, since this process stood still for a moment, is repeated.
        """
        for _ in range(5):
            self.lab.rule("*", "*", delay=DELAY_MS)
            trial = self.submit(name)
            self.cluster.await_checkpoint(trial)
            hosts = {self.cluster.host_of_rank(trial, rank) for rank in (0, 1)}
            self.assertEqual(hosts, {"beta", "gamma"})
            hit(trial)
            ended = self.cluster.await_end(trial)
            self.assertEqual(ended["state"], "finished", ended["explanation"])
            self.assertEqual(self.cluster.losses(trial), self.undisturbed)
            if self.was_hit:
                return ended
        self.fail("every run was over before it could be disturbed")

    def test_a_killed_worker_changes_no_loss(self):
        def hit(trial: str) -> None:
            host = self.cluster.host_of_rank(trial, 1)
            self.cluster.workers[host].kill()
            until("the end of its trainer", lambda: not self.lab[host].processes("dttrain"), PATIENCE_SECONDS)
            self.cluster.start_worker(host)
            self.was_hit = self.cluster.await_attempt(trial, 2)["attempts"] > 1
        ended = self.disturb("killed", hit)
        self.assertGreater(ended["attempt_list"][-1]["resumed_step"], 0)

    def cut_until_given_up(self, name: str, *ends: str) -> None:
        def hit(trial: str) -> None:
            self.lab.cut(*ends)

            def given_up():
                now = self.cluster.trial(trial)
                return now if now["attempt_list"][0]["ended_at"] else None
            self.was_hit = self.cluster.until_trial("the end of the attempt", trial, given_up)["state"] != "finished"
            self.lab.heal()
        ended = self.disturb(name, hit)
        self.assertGreater(ended["attempt_list"][-1]["resumed_step"], 0)

    def test_a_host_that_is_cut_from_all_until_the_attempt_is_given_up_changes_no_loss(self):
        self.cut_until_given_up("cut", "gamma")
        for host in ("beta", "gamma"):
            self.assertLessEqual(len(self.lab[host].processes("dttrain")), 1, f"trainers on {host}")

    def test_two_hosts_that_are_cut_from_each_other_until_the_attempt_is_given_up_change_no_loss(self):
        self.cut_until_given_up("pair", "beta", "gamma")

    def test_two_hosts_that_are_cut_from_each_other_for_a_moment_change_no_loss(self):
        def dropped() -> int:
            return self.lab.counts("beta", "gamma")["cut"] + self.lab.counts("gamma", "beta")["cut"]

        def hit(trial: str) -> None:
            before = dropped()
            self.lab.cut("beta", "gamma")
            until("frames between them", lambda: dropped() >= before + DROPPED_FRAMES
                  or self.cluster.trial(trial)["state"] == "finished", PATIENCE_SECONDS)
            self.was_hit = self.cluster.trial(trial)["state"] != "finished"
            self.lab.heal()
        self.disturb("moment", hit)


class TableTest(unittest.TestCase):
    """Each hit of recovery.py, on a gang that trains on, with a spare host."""

    def test_every_hit_is_recovered_from_and_no_step_is_lost_or_counted_twice(self):
        print("| hit | noticed | next committed step | lost steps | cause |\n|---|---|---|---|---|")
        with tempfile.TemporaryDirectory(prefix="dtrain-hosts-") as folder:
            with Lab(SWITCH, pathlib.Path(folder), recovery.HOSTS) as lab:
                gang = recovery.Gang(lab, PROGRAMS)
                gang.submit("ddp")
                for name in (*recovery.HITS, recovery.MOVED):
                    found = gang.hit(name)
                    self.assertIsNotNone(found, f"{name}\n{gang.cluster.logs()}")
                    noticed = "no" if found.detected is None else f"{found.detected:.1f} s"
                    print(f"| {recovery.WORDS[name]} | {noticed} | {found.next_step:.1f} s "
                          f"| {found.lost_steps or 0} | {found.cause} |", flush=True)
                gang.await_steps(recovery.STEPS_BEFORE)
                gang.cancel()
                steps = gang.committed_steps()
                self.assertEqual(steps, list(range(1, len(steps) + 1)))


if __name__ == "__main__":
    namespaces.enter()
    SWITCH, PROGRAMS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main(verbosity=2)
