"""The client against the real programs: two workers train a grid, and the client reads its results."""

import csv
import io
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest
from unittest import mock

import dtrain
import pandas
from cluster import EXPERIMENT, Cluster, report_logs, until

MANUAL = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/python.md"


class TrainedTest(unittest.TestCase):
    """Trains one grid for all of these tests."""

    cluster: Cluster
    client: dtrain.Client
    submitted: dtrain.Submission
    ended: dtrain.Experiment

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start_coordinator()
        for slot in range(2):
            cls.cluster.start_worker(f"test/{slot}", slot)
        cls.cluster.make_corpus()
        cls.client = cls.cluster.client()
        cls.addClassCleanup(cls.client.close)
        until("two workers", lambda: len(cls.client.workers()) == 2)
        cls.submitted = cls.client.submit(EXPERIMENT, overrides={"train.max_steps": 10, "logging.every": 2})
        cls.ended = cls.client.wait(cls.submitted, timeout=120)
        report_logs(cls.cluster, not cls.ended.succeeded)

    def test_an_experiment_is_found_by_number_name_and_last(self) -> None:
        self.assertTrue(self.ended.succeeded, self.client.trials(self.submitted))
        self.assertEqual((self.ended.state, self.ended.trials, self.ended.finished), ("finished", 2, 2))
        self.assertEqual(self.ended.progress_ratio, 1.0)
        self.assertEqual(self.ended.labels, {"team": "tests"})
        self.assertIsNotNone(self.ended.ended_at.tzinfo)
        for selection in (self.submitted, self.submitted.experiment, str(self.submitted.experiment), "small",
                          self.ended):
            self.assertEqual(self.client.experiment(selection), self.ended)
        self.assertIn(self.ended, self.client.experiments(labels={"team": "tests"}))
        self.assertEqual(self.client.experiments(labels={"team": "others"}), [])

    def test_trials_carry_their_parameters_and_results(self) -> None:
        trials = self.client.trials("small")
        self.assertEqual([one.parameters for one in trials], [{"optimizer.lr": 1e-3}, {"optimizer.lr": 1e-2}])
        for one in trials:
            self.assertEqual((one.state, one.cause, one.step, one.target_steps), ("finished", "finished", 10, 10))
            self.assertTrue(math.isfinite(one.val_loss) and one.best_val_loss <= one.val_loss)
            self.assertGreater(one.tokens_per_second, 0)
            self.assertIsNone(one.comm_ratio if one.world_size > 1 else None)
            self.assertEqual(one.provenance["threads"], 1)
            self.assertEqual(one.last_checkpoint.step, 10)
        self.assertEqual(self.client.trial("small/2"), trials[1])
        self.assertEqual(self.client.trials("small", states=["failed"]), [])

    def test_the_best_trial_is_the_one_that_dtctl_names(self) -> None:
        best = self.client.best("small")
        named = self.dtctl("best", "small", "-o", "name").strip()
        self.assertEqual(best.id, named)
        self.assertEqual(best.trial, self.ended.best_trial)
        self.assertEqual(best.metric_value, self.ended.best_value)
        ranked = self.client.ranked("small")
        self.assertLessEqual(ranked[0].metric_value, ranked[1].metric_value)
        checkpoint = self.client.best_checkpoint(best)
        self.assertTrue((self.cluster.path / "storage" / checkpoint.path / "manifest.json").exists(), checkpoint)
        self.assertIn(checkpoint, self.client.checkpoints("small"))
        self.assertEqual(len(checkpoint.seen_by), 2)

    def test_metrics_are_those_that_dtctl_prints(self) -> None:
        shown = list(csv.DictReader(io.StringIO(self.dtctl("metrics", "small"))))
        frame = self.client.metrics_df("small")
        self.assertEqual(len(frame), len(shown))
        self.assertEqual([name for name in shown[0] if name not in frame.columns], [])
        for name in shown[0]:
            for row, one in zip(shown, frame[name]):
                said = float(row[name]) if row[name] else None
                self.assertEqual(said, None if pandas.isna(one) else float(one), (name, row))
        self.assertEqual(list(frame.columns)[:4], ["experiment", "trial", "attempt", "step"])
        self.assertEqual(list(frame.columns)[-1], "optimizer.lr")
        self.assertEqual(set(frame["optimizer.lr"]), {1e-3, 1e-2})

    def test_rows_come_one_by_one_with_the_metrics_that_were_asked_for(self) -> None:
        rows = self.client.metrics("small/2", metrics=["val_loss", "loss"])
        first = next(rows)
        self.assertEqual((first["trial"], first["step"], first["parameters"]), (2, 2, {"optimizer.lr": 1e-2}))
        self.assertEqual(set(first), {"experiment", "trial", "attempt", "step", "loss", "parameters"})
        evaluated = [row["step"] for row in rows if "val_loss" in row]
        self.assertEqual(evaluated, [5, 10])  # 5 is no logged step: it has its own row
        frame = self.client.metrics_df("small", metrics="loss", all_attempts=True)
        self.assertEqual(list(frame.columns),
                         ["experiment", "trial", "attempt", "step", "superseded", "loss", "optimizer.lr"])
        with self.assertRaisesRegex(dtrain.UsageError, "there is no metric 'los' in experiment 1; there are: loss"):
            list(self.client.metrics("small", metrics=["los"]))

    def test_trials_are_a_frame_with_a_column_for_each_parameter(self) -> None:
        frame = self.client.trials_df("small")
        self.assertEqual(list(frame["optimizer.lr"]), [1e-3, 1e-2])
        self.assertEqual(list(frame["state"]), ["finished", "finished"])
        self.assertEqual(len(self.client.trials_df("small/1")), 1)

    def test_a_description_has_the_file_and_every_field(self) -> None:
        described = self.client.describe("small")
        self.assertEqual(described.experiment, self.ended)
        self.assertEqual(described.file_name, "dict")
        self.assertIn('"name": "small"', described.file_text)
        self.assertIn('"max_steps": 10', described.file_text)
        self.assertEqual(described.parameters, {"optimizer.lr": [1e-3, 1e-2]})
        self.assertEqual(described.configuration["train"]["max_steps"], 10)
        self.assertEqual(described.configuration["optimizer"]["betas"], [0.9, 0.95])
        self.assertEqual(described.configuration["search"]["metric"], "val_loss")
        # The stored file can be submitted again.
        self.assertEqual(self.client.validate(described.file_text).trials, 2)

    def test_a_plan_estimates_an_experiment_from_similar_trials(self) -> None:
        plan = self.client.plan(self.client.describe("small").file_text)
        self.assertTrue(plan.fits, plan)
        self.assertEqual((plan.trials, plan.configurations[0].trials), (2, 2))
        self.assertEqual(plan.configurations[0].target_steps, 10)
        self.assertIn("of the same model", plan.configurations[0].estimated_from)
        self.assertIsNotNone(plan.finish_seconds)

    def test_an_explanation_tells_the_attempts(self) -> None:
        explained = self.client.explain("small/1")
        self.assertEqual(explained.trial.id, f"{self.ended.experiment}/1")
        self.assertTrue(explained.explanation)
        self.assertEqual(len(explained.attempts), 1)
        attempt = explained.attempts[0]
        self.assertEqual((attempt.attempt, attempt.last_step, attempt.cause), (1, 10, "finished"))
        self.assertIn(attempt.workers[0], {one.worker for one in self.client.workers()})

    def test_logs_are_the_lines_that_dtctl_prints(self) -> None:
        lines = list(self.client.logs("small/1"))
        self.assertTrue(lines)
        self.assertEqual([f"#{one.attempt} rank {one.rank} | {one.text}" for one in lines],
                         self.dtctl("logs", "small/1").splitlines())
        self.assertEqual(list(self.client.logs("small/1", rank=0, follow=True)), lines)
        with self.assertRaisesRegex(dtrain.NotFoundError, "has ranks 0 to 0; there is no rank 3"):
            self.client.logs("small/1", rank=3)

    def test_workers_and_the_coordinator_tell_of_themselves(self) -> None:
        workers = self.client.workers()
        self.assertEqual({one.worker for one in workers}, {"test/0", "test/1"})
        self.assertEqual({one.device for one in workers}, {"cpu"})
        status = self.client.status()
        self.assertEqual(status.program_version, dtrain.__version__)
        self.assertEqual(status.workers, 2)
        self.assertEqual(len(status.journal_id), 16)

    def test_a_context_of_dtctl_is_found_by_its_name_and_as_the_current_one(self) -> None:
        self.cluster.dtctl("context", "add", "here", "--address", self.cluster.address)
        done = subprocess.run(
            [sys.executable, "-c", "import dtrain\n"
             "current, named = dtrain.Client(), dtrain.Client(context='here')\n"
             "print(current, named.address, current.experiment('small').state)"],
            env={"PYTHONPATH": ":".join(sys.path), "XDG_CONFIG_HOME": str(self.cluster.path / "config")},
            capture_output=True, text=True, timeout=60, check=False)
        address = self.cluster.address
        self.assertEqual((done.stdout, done.stderr),
                         (f"dtrain.Client('{address}', context='here') {address} finished\n", ""))

    def test_waiting_for_a_trial_returns_it(self) -> None:
        trial = self.client.wait("small/2", timeout=30)
        self.assertIsInstance(trial, dtrain.Trial)
        self.assertTrue(trial.succeeded)

    def dtctl(self, *arguments: str) -> str:
        return self.cluster.dtctl("--address", self.cluster.address, *arguments)


class ManualTest(unittest.TestCase):
    def test_the_cells_of_the_manual_run_as_they_are(self) -> None:
        text = MANUAL.read_text(encoding="utf-8")
        section = text[text.index("## A sweep, cell by cell"):text.index("## Which coordinator")]
        cells = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        self.assertGreater(len(cells), 4)
        cluster = Cluster()
        self.addCleanup(cluster.close)
        cluster.start_coordinator()
        for slot in range(2):
            cluster.start_worker(f"test/{slot}", slot)
        cluster.make_corpus()
        (cluster.path / "data/mine").symlink_to("text")
        with cluster.client() as client:
            until("two workers", lambda: len(client.workers()) == 2)
        names: dict = {}
        with mock.patch.dict(os.environ, {"DTCTL_ADDRESS": cluster.address}):
            for cell in cells:
                # Make it quicker, and do without matplotlib.
                cell = cell.replace('"max_steps": 200', '"max_steps": 3').replace('"n_embd": 128', '"n_embd": 16')
                cell = re.sub(r"\.plot\(.*\)(?: +#.*)?$", "", cell, flags=re.MULTILINE)
                exec(cell, names)
        self.assertEqual(names["client"].experiment().finished, 6)
        self.assertEqual(len(names["curves"]), 18)


class ActingTest(unittest.TestCase):
    def test_a_sweep_is_cancelled_retried_to_its_end_and_deleted(self) -> None:
        cluster = Cluster()
        self.addCleanup(cluster.close)
        cluster.start_coordinator()
        cluster.start_worker("test/0", 0)
        cluster.make_corpus()
        with cluster.client() as client:
            until("a worker", client.workers)
            long = {**EXPERIMENT, "name": "long", "train": {**EXPERIMENT["train"], "max_steps": 100000}}
            first = client.submit(long)
            running = client.wait(first, until="first-step", timeout=60)
            self.assertEqual((running.experiment, running.state), (first.experiment, "running"))
            self.assertEqual(client.cancel(f"{first.experiment}/1"), 1)
            self.assertEqual(client.wait(f"{first.experiment}/1", timeout=60).state, "cancelled")
            client.wait(f"{first.experiment}/2", until="running", timeout=60)
            client.cancel(first, reason="seen enough")
            self.assertEqual(client.wait(first, timeout=60).state, "cancelled")
            self.assertEqual(client.retry(f"{first.experiment}/1", failed=False, cancelled=True), 1)
            client.wait(f"{first.experiment}/1", until="first-step", timeout=60)
            client.cancel(first)
            client.wait(first, timeout=60)
            client.delete(first)
            self.assertEqual(client.experiments(), [])
            with self.assertRaises(dtrain.NotFoundError):
                client.experiment("last")
