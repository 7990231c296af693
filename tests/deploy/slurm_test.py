"""Workers under a real Slurm. Warned before the time limit, they save and the job is queued again. The allocator keeps
within its bounds, and idle allocations end.

usage: slurm_test.py BUILD_FOLDER     exits 77 with the reason if there is no Slurm
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from live_run import LiveRun  # first: it adds the path of until
import slurm_house
from until import TooLate, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "deploy/slurm/dtrain-workers.sbatch")
ALLOCATOR = str(ROOT / "deploy/slurm/dtrain-slurm")
SKIPPED = 77
MINUTES = 60.0
EXPERIMENT = """
version: 1
name: {name}
parameters: {{optimizer.lr: {rates}}}
resources: {{gpus: {gpus}, device: cpu}}
data: {{train: "live/train_*.bin", val: "live/val_*.bin", tokenizer: byte}}
model: {{preset: gpt2, n_layer: 1, n_head: 2, n_embd: 32, n_ff: 64, n_positions: 32}}
train: {{batch_size: 2, seq_len: 32, max_steps: {steps}}}
eval: {{every: 1000000, batches: 1}}
checkpoint: {{every: 1h}}
"""


class Slurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-slurm-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_ = self.enterContext(LiveRun(pathlib.Path(sys.argv[1]) / "bin"))
        self.run_.start_coordinator()
        self.run_.make_corpus()
        self.slurm = self.enterContext(slurm_house.SlurmHouse(self.folder, cpus=8))
        self.slurm.environment.update(
            DTRAIN_COORDINATOR=self.run_.addresses["grpc"], DTRAIN_WORKER=str(self.run_.programs / "dtworker"),
            DTRAIN_WORKER_FLAGS=f"--data-address 127.0.0.1 --data-root {self.run_.path / 'data'} "
                                f"--storage {self.run_.path / 'storage'} --run-dir {self.folder / 'run'}")

    def submit(self, name: str, **values) -> None:
        path = self.folder / f"{name}.yaml"
        path.write_text(EXPERIMENT.format(name=name, **values))
        self.run_.dtctl("submit", str(path))

    def ask(self, *words: str):
        return json.loads(self.run_.dtctl(*words, "-o", "json"))

    def attempts(self, trial: str) -> list[dict]:
        return self.ask("explain", trial)["attempt_list"]

    def told(self) -> str:
        """Returns the texts that a user would read about a trial that does not progress."""
        jobs = "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.job")))
        return f"{self.run_.dtctl('explain', 'last/1')}\n--- jobs\n{jobs}"

    def test_a_warning_before_the_time_limit_saves_and_queues_the_job_again(self):
        self.submit("long", rates="[1.0e-3]", gpus=2, steps=100000000)
        job = self.slurm.call("sbatch", "--parsable", "--ntasks=2", "--time=2", "--signal=B:USR1@60",
                              f"--output={self.folder}/a.job", "--export=ALL,DTRAIN_IDLE_TIMEOUT=10s", SCRIPT).strip()

        def trains() -> bool:
            trial = self.ask("get", "trials", "last")["items"][0]
            self.assertNotEqual(trial["state"], "failed", trial["message"])
            return trial["step"] > 0

        until("a step of the gang", trains, 2 * MINUTES)
        names = sorted(worker["worker"] for worker in self.ask("get", "workers")["items"])
        self.assertEqual(names, [f"slurm-{job}/0", f"slurm-{job}/1"])
        # Slurm itself sends the warning, up to a minute early; the job runs again once its
        # credential is too old.
        until("the job's second run", lambda: "Restarts=1" in self.slurm.call("scontrol", "show", "job", job),
              3 * MINUTES)
        until("the trial's second attempt", lambda: len(self.attempts("last/1")) > 1, 2 * MINUTES)
        self.assertEqual(self.attempts("last/1")[0]["cause"], "preempted")
        # No checkpoint was due before, so the warning caused this one.
        try:
            until("a resume from the checkpoint", lambda: self.attempts("last/1")[1]["resumed_step"] > 0, MINUTES)
        except TooLate as late:
            raise AssertionError(f"{late}\n{self.told()}") from None
        self.run_.dtctl("cancel", "last")
        # Nothing is left to do: both workers end, and the job with them.
        until("the end of the idle allocation", lambda: not self.slurm.jobs(), 2 * MINUTES)
        self.assertIn("COMPLETED", self.slurm.call("scontrol", "show", "job", job))

    def test_waiting_trials_are_given_allocations_within_bounds_and_idle_ones_end(self):
        self.submit("several", rates="[1.0e-3, 2.0e-3, 3.0e-3, 4.0e-3]", gpus=1, steps=300)
        log = (self.folder / "allocator.log").open("wb")
        self.addCleanup(log.close)
        allocator = subprocess.Popen(
            [sys.executable, "-B", ALLOCATOR, "--coordinator", self.run_.addresses["grpc"], "--max-queued", "1",
             "--max-running", "2", "--idle-timeout", "5s", "--interval", "1",
             "--dtctl", str(self.run_.programs / "dtctl"), "--script", SCRIPT,
             "--", "--time=10", f"--output={self.folder}/%j.job"],
            env=self.slurm.environment, stdout=log, stderr=log)
        self.addCleanup(lambda: allocator.poll() is None and (allocator.terminate(), allocator.wait(30)))
        seen: set[str] = set()

        def finished() -> bool:
            jobs = self.slurm.jobs()
            seen.update(jobs)
            self.assertLessEqual(sum(state != "COMPLETING" for state in jobs.values()), 2, jobs)
            self.assertLessEqual(sum(state == "PENDING" for state in jobs.values()), 1, jobs)
            self.assertIsNone(allocator.poll(), (self.folder / "allocator.log").read_text())
            experiment = self.ask("get", "experiments")["items"][-1]
            self.assertEqual(experiment["failed"], 0, self.run_.dtctl("get", "trials", "last"))
            return experiment["finished"] == 4

        until("the end of all trials", finished, 4 * MINUTES)
        until("the end of the idle allocations", lambda: not self.slurm.jobs(), 2 * MINUTES)
        self.assertGreaterEqual(len(seen), 1)
        allocator.terminate()
        self.assertEqual(allocator.wait(30), 0)
        self.assertIn("no trial waits", (self.folder / "allocator.log").read_text())


if __name__ == "__main__":
    lacking = slurm_house.why_not()
    if lacking:
        print(f"skipped: there is no Slurm here: {lacking}")
        sys.exit(SKIPPED)
    if os.getuid() != 0:
        print("skipped: slurmd starts jobs as other users, so it needs root's rights")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
