"""Tests the decisions of the allocator for Slurm.

usage: allocation_test.py
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy" / "slurm"))
from allocation import (Bounds, Decision, Experiment, Job, Kind, decide, demand_of, slots_of,  # noqa: E402
                        why_left_out)

BOUNDS = Bounds(slots=4, queued=2, running=5)


def waiting(pending: int, slots: int = 1, **more) -> Experiment:
    running, held = more.pop("running", 0), more.pop("held", 0)
    return Experiment(pending=pending, running=running, slots_held=held, slots=slots, **more)


class Demand(unittest.TestCase):
    def test_demand_is_the_slots_of_all_waiting_trials(self):
        self.assertEqual(demand_of(waiting(3, slots=2)), 6)

    def test_leaves_out_trials_that_max_concurrent_holds_back(self):
        self.assertEqual(demand_of(waiting(10, slots=2, running=3, max_concurrent=4)), 2)
        self.assertEqual(demand_of(waiting(10, running=5, max_concurrent=4)), 0)

    def test_leaves_out_trials_that_max_gpus_total_holds_back(self):
        self.assertEqual(demand_of(waiting(10, slots=4, held=4, max_slots=10)), 4)
        self.assertEqual(demand_of(waiting(10, slots=4, held=8, max_slots=10)), 0)


def spec(parameters=(), **resources) -> dict:
    return {"base": {"resources": {"device": "cuda", "gpus": 2, **resources}}, "parameters": list(parameters)}


class Kinds(unittest.TestCase):
    def left_out(self, what: dict, **kind) -> str:
        return why_left_out(what, Kind("cuda", **kind)) or ""

    def test_a_grid_over_gpus_counts_with_its_largest_trials(self):
        values = {"path": "resources.gpus", "values": [1, 8, 4]}
        self.assertEqual(slots_of(spec([values])), 8)
        self.assertEqual(slots_of(spec([{"path": "resources.gpus", "range": {"min": 1, "max": 6}, "values": []}])), 6)
        self.assertEqual(slots_of(spec([{"path": "optimizer.lr", "values": [9]}])), 2)
        self.assertEqual(slots_of(spec(min_gpus=1)), 1)

    def test_another_device_is_left_out(self):
        self.assertEqual(self.left_out(spec()), "")
        self.assertIn("wants cpu", self.left_out(spec(device="cpu")))

    def test_an_accelerator_is_wanted_by_part_of_its_name(self):
        self.assertIn("give --accelerator", self.left_out(spec(accelerator="H100")))
        self.assertIn("give --accelerator", self.left_out(spec(accelerator="H100"), accelerator="NVIDIA A100"))
        self.assertEqual(self.left_out(spec(accelerator="h100"), accelerator="NVIDIA H100 PCIe"), "")

    def test_a_sweep_over_accelerators_is_left_out_with_advice(self):
        swept = spec([{"path": "resources.accelerator", "values": ["H100", "A100"]}])
        self.assertIn("one experiment for each kind", self.left_out(swept, accelerator="NVIDIA H100"))

    def test_labels_must_match_completely(self):
        wants = spec(labels={"disk": "fast"})
        self.assertIn("--label disk=fast", self.left_out(wants))
        self.assertIn("--label disk=fast", self.left_out(wants, labels=(("disk", "slow"),)))
        self.assertEqual(self.left_out(wants, labels=(("rack", "1"), ("disk", "fast"))), "")


class Decisions(unittest.TestCase):
    def decide(self, experiments, idle=0, jobs=(), bounds=BOUNDS) -> Decision:
        return decide(list(experiments), idle, list(jobs), bounds)

    def test_nothing_is_requested_if_nothing_waits(self):
        self.assertEqual(self.decide([]).submit, 0)
        self.assertEqual(self.decide([waiting(3, running=1, max_concurrent=1)]).submit, 0)

    def test_a_trial_that_waits_is_an_allocation(self):
        self.assertEqual(self.decide([waiting(1)]).submit, 1)

    def test_allocations_are_as_many_as_hold_all_trials(self):
        self.assertEqual(self.decide([waiting(4), waiting(1)]).submit, 2)
        self.assertEqual(self.decide([waiting(1, slots=8)]).submit, 2)

    def test_idle_workers_and_those_on_their_way_are_not_asked_for_again(self):
        self.assertEqual(self.decide([waiting(4)], idle=4).submit, 0)
        self.assertEqual(self.decide([waiting(4)], jobs=[Job("1", queued=True)]).submit, 0)
        self.assertEqual(self.decide([waiting(4)], jobs=[Job("1", queued=False)]).submit, 0)
        self.assertEqual(self.decide([waiting(5)], jobs=[Job("1", queued=False)]).submit, 1)

    def test_workers_that_are_there_and_busy_do_not_count(self):
        self.assertEqual(self.decide([waiting(4)], jobs=[Job("1", queued=False, connected=4)]).submit, 1)

    def test_a_job_whose_workers_ended_is_not_counted_below_nothing(self):
        self.assertEqual(self.decide([waiting(4)], jobs=[Job("1", queued=False, connected=9)]).submit, 1)

    def test_the_queue_is_bounded(self):
        decision = self.decide([waiting(100)], jobs=[Job("1", queued=True)])
        self.assertEqual(decision.submit, 1)
        self.assertIn("bounds", decision.reason)
        self.assertEqual(self.decide([waiting(100)], jobs=[Job("1", True), Job("2", True)]).submit, 0)

    def test_running_and_queued_jobs_together_are_bounded(self):
        running = [Job(str(i), queued=False, connected=4) for i in range(4)]
        self.assertEqual(self.decide([waiting(100)], jobs=running).submit, 1)
        self.assertEqual(self.decide([waiting(100)], jobs=running + [Job("q", True)]).submit, 0)
        # More than the bound, as after it was lowered: trials keep their slots.
        self.assertEqual(self.decide([waiting(100)], jobs=running * 2), self.decide([waiting(100)], jobs=running * 2))
        self.assertEqual(self.decide([waiting(100)], jobs=running * 2).submit, 0)
        self.assertEqual(self.decide([waiting(100)], jobs=running * 2).cancel, ())

    def test_queued_jobs_are_cancelled_once_nothing_waits_and_running_ones_stay(self):
        decision = self.decide([], jobs=[Job("1", True), Job("2", False, 4), Job("3", True)])
        self.assertEqual(decision.cancel, ("1", "3"))
        self.assertEqual(self.decide([waiting(1)], jobs=[Job("1", True), Job("3", True)]).cancel, ())

    def test_looking_again_and_again_never_goes_beyond_the_bounds(self):
        for pending in range(0, 60, 7):
            jobs: list[Job] = []
            for look in range(10):
                decision = self.decide([waiting(pending)], jobs=jobs)
                jobs += [Job(f"{look}.{i}", queued=True) for i in range(decision.submit)]
                self.assertLessEqual(sum(job.queued for job in jobs), BOUNDS.queued)
                self.assertLessEqual(len(jobs), BOUNDS.running)
                # The oldest waiting job starts, and each of its workers takes a trial.
                for i, job in enumerate(jobs):
                    if job.queued:
                        jobs[i] = Job(job.id, queued=False, connected=BOUNDS.slots)
                        pending = max(0, pending - BOUNDS.slots)
                        break


if __name__ == "__main__":
    unittest.main()
