"""Searches whose trials run in this process, against a real coordinator without workers: their loops, a client that is
killed, a coordinator that is killed between two calls, and the guide's own examples."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings
from unittest import mock

import dtrain
from cluster import PATIENCE_SECONDS, Cluster, ClusterTest, until
from dtrain import optuna

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guides/studies.md"
SPACE = {"x": {"min": -10.0, "max": 10.0}}
# Asks for a trial, prints its name, and does nothing more until it is killed.
HANGS = """
import sys, time, dtrain
study = dtrain.Client(sys.argv[1]).study(name=sys.argv[2], lease=5)
trial = study.ask()
print(trial.id, trial.suggest_float("x", -10, 10), flush=True)
time.sleep(600)
"""
JOINS = """
import sys, dtrain
dtrain.Client(sys.argv[1]).optimize(lambda trial: trial.suggest_float("x", -10, 10) ** 2, 12, name=sys.argv[2])
"""


def square(trial: dtrain.StudyTrial) -> float:
    return (trial.suggest_float("x", -10, 10) - 2) ** 2


class StudyTest(ClusterTest):
    def _process(self, code: str, name: str) -> subprocess.Popen:
        process = subprocess.Popen([sys.executable, "-c", code, self.cluster.address, name], stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, PATIENCE_SECONDS)
        self.addCleanup(process.kill)
        return process

    def test_a_loop_of_ask_and_tell_ends_with_the_search(self) -> None:
        study = self.client.study(SPACE, metric="loss_here", goal="minimize", name="loop", n_trials=15)
        values = []
        while (trial := study.ask()) is not None:
            trial.report({"loss_here": 200.0, "other": 1.0}, 1)
            self.assertFalse(trial.should_stop())
            values.append((trial.params["x"] - 2) ** 2)
            self.assertTrue(study.tell(trial, values[-1]))
        self.assertEqual(len(values), 15)
        self.assertEqual(study.state.state, "finished")
        self.assertEqual(study.best_value, min(values))
        self.assertEqual(len(study.trials), 15)
        self.assertIn("loop", self.cluster.dtctl("get", "experiments", "--address", self.cluster.address))
        self.assertEqual(self.client.workers(), [])

    def test_a_study_is_joined_by_its_name_and_extended(self) -> None:
        first = self.client.study(SPACE, name="joined", n_trials=1)
        first.tell(first.ask(), 1.0)
        again = self.client.study(SPACE, name="joined", n_trials=2)
        self.assertEqual(again.experiment, first.experiment)
        again.tell(again.ask(), state="failed", message="no luck")
        self.assertIsNone(again.ask())
        self.assertEqual([one.state for one in again.trials], ["finished", "failed"])
        self.assertEqual(again.trials[1].message, "no luck")
        with self.assertRaises(dtrain.UsageError):
            self.client.study(SPACE, name="joined", metric="another")
        with self.assertRaisesRegex(dtrain.UsageError, "the goal minimize, not maximize"):
            self.client.study(SPACE, name="joined", goal="maximize")

    def test_the_name_of_a_renamed_study_is_free(self) -> None:
        studies = []
        for number in range(3):
            studies.append(self.client.study(SPACE, name="renamed", n_trials=1))
            self.client.rename(studies[-1].experiment, f"renamed-{number}")
        self.assertEqual(len({one.experiment for one in studies}), 3)

    def test_a_value_that_is_no_number_fails_the_trial(self) -> None:
        with self.assertWarnsRegex(UserWarning, "trial .*/1 failed: its objective returned 'good'; return its value"):
            study = self.client.optimize(
                lambda trial: "good", 1, name="no-number")  # type: ignore[arg-type,return-value]
        self.assertEqual(study.trials[0].state, "failed")
        self.assertIn("'good'", study.trials[0].message)
        with self.assertRaisesRegex(dtrain.NotFoundError, "1 failed; trial .*: its client told 'good'"):
            study.best_trial

    def test_every_end_of_an_objective_can_be_told(self) -> None:
        class Tensor:
            def __float__(self) -> float:
                raise RuntimeError("a tensor with 2 elements")

            def __repr__(self) -> str:
                raise RuntimeError("no words")

        study = self.client.study(SPACE, name="any-end", n_trials=5)
        for value in (10**400, 10**5000, Tensor(), "\udcff"):
            study.optimize(lambda trial: value, 1)
        error = ValueError(os.fsdecode(b"no file /data/\xff"))
        with self.assertRaises(ValueError) as raised:
            study.optimize(mock.Mock(side_effect=error), 1)
        self.assertIs(raised.exception, error)
        self.assertEqual([one.state for one in study.trials], 5 * ["failed"])
        self.assertRegex(study.trials[1].message, "a value of type int")
        self.assertEqual(study.trials[4].message, "ValueError: no file /data/\\udcff")

    def test_a_report_that_is_no_number_is_refused(self) -> None:
        study = self.client.study(SPACE, name="no-number-reported", n_trials=1)
        trial = study.ask()
        with self.assertRaisesRegex(dtrain.UsageError, "cannot be sent"):
            trial.report(10**400, 1)
        self.assertTrue(study.tell(trial, 1.0))

    def test_a_stop_ends_the_wait_for_a_trial(self) -> None:
        study = self.client.study(SPACE, name="paused", n_trials=2)
        self.client.pause(study.experiment)
        asked = threading.Event()
        call = study._call

        def noted(*given):
            answer = call(*given)
            asked.set()
            return answer

        with mock.patch.object(study, "_call", noted):
            thread = threading.Thread(target=lambda: study.optimize(square, n_jobs=2), daemon=True)
            thread.start()
            self.assertTrue(asked.wait(PATIENCE_SECONDS))
            study.stop()
            thread.join(PATIENCE_SECONDS)
        self.assertFalse(thread.is_alive())
        self.assertEqual(study.state.finished, 0)

    def test_several_processes_and_threads_share_one_search(self) -> None:
        others = [self._process(JOINS, "shared") for _ in range(2)]
        study = self.client.optimize(square, 12, n_jobs=2, name="shared")
        for other in others:
            self.assertEqual(other.wait(PATIENCE_SECONDS), 0)
        self.assertEqual(study.state.finished, 12)
        self.assertEqual(len(study.trials), 12)

    def test_the_trial_of_a_killed_client_goes_to_the_next_with_its_values(self) -> None:
        study = self.client.study(name="killed", n_trials=1)
        process = self._process(HANGS, "killed")
        name, x = process.stdout.readline().split()
        self.assertIsNone(study.ask())
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)
        trial = until("the trial comes back", study.ask)
        self.assertEqual(trial.id, name)
        self.assertEqual(trial.suggest_float("x", -10, 10), float(x))
        self.assertTrue(study.tell(trial, 1.0))

    def test_a_coordinator_killed_between_ask_and_tell_forgets_nothing(self) -> None:
        cluster = Cluster()
        self.addCleanup(cluster.close)
        process = cluster.start_coordinator()
        client = cluster.client()
        self.addCleanup(client.close)
        study = client.study(name="durable", n_trials=2)
        trial = study.ask()
        x = trial.suggest_float("x", -10, 10)
        trial.report(3.0, 1)
        process.kill()
        process.wait(PATIENCE_SECONDS)
        told: list[bool] = []
        teller = threading.Thread(target=lambda: told.append(study.tell(trial, 2.0)))  # waits for the coordinator
        teller.start()
        cluster.start_coordinator(cluster.address)
        teller.join(PATIENCE_SECONDS)
        self.assertEqual(told, [True])
        kept = study.trials[0]
        self.assertEqual((kept.state, kept.parameters, kept.metric_value), ("finished", {"x": x}, 2.0))
        self.assertEqual(study.ask().number, 2)

    def test_a_timeout_bounds_the_wait_for_a_coordinator_that_died(self) -> None:
        cluster = Cluster()
        self.addCleanup(cluster.close)
        process = cluster.start_coordinator()
        client = cluster.client()
        self.addCleanup(client.close)

        def objective(trial: dtrain.StudyTrial) -> float:
            process.kill()
            process.wait(PATIENCE_SECONDS)
            return 1.0

        began = time.monotonic()
        with self.assertRaisesRegex(dtrain.UnreachableError,
                                    rf"waited [0-9.]+ s for the coordinator at {re.escape(cluster.address)}: no"):
            client.optimize(objective, 2, name="left-alone", timeout=2)
        self.assertLess(time.monotonic() - began, PATIENCE_SECONDS)
        with self.assertRaisesRegex(dtrain.UnreachableError, re.escape(cluster.address)):
            client.optimize(objective, 2, name="left-alone", timeout=1)
        self.assertLess(time.monotonic() - began, PATIENCE_SECONDS)

    def test_an_objective_chooses_its_parameters_and_may_end_early(self) -> None:
        def objective(trial: dtrain.StudyTrial) -> float:
            kind = trial.suggest_categorical("kind", [None, "deep"])
            if kind is None:
                score = trial.suggest_int("width", 1, 8) / 8
            else:
                score = trial.suggest_float("rate", 1e-4, 1.0, log=True)
            if trial.number == 3:
                raise ValueError("unlucky")
            trial.report(score, 1)
            if trial.should_prune() or trial.number == 5:
                raise dtrain.TrialPruned
            return score

        study = self.client.optimize(objective, 12, name="conditional", catch=ValueError, stop={"median": {"after": 1}})
        trials = study.trials
        self.assertEqual(len(trials), 12)
        self.assertIn("ValueError: unlucky", trials[2].message)
        self.assertEqual(trials[4].cause, "stopped_early")
        for one in trials:
            expected = {"kind", "width"} if one.parameters["kind"] == "None" else {"kind", "rate"}
            self.assertEqual(set(one.parameters), expected)
        with self.assertRaises(dtrain.ConflictError):
            again = self.client.study(name="conditional", n_trials=13)
            again.ask().suggest_int("width", 1, 9)

    def test_a_client_without_the_package_takes_part_over_http(self) -> None:
        study = self.client.study(SPACE, metric="loss_here", name="over-http", n_trials=2, method="random")
        asker = {"asker": "00000000000000a7"}

        def post(act: str, **fields: object) -> tuple[int, dict]:
            connection = http.client.HTTPConnection(self.cluster.http, timeout=PATIENCE_SECONDS)
            self.addCleanup(connection.close)
            connection.request("POST", f"/api/v1/experiments/{study.experiment}/{act}",
                               json.dumps(asker | fields), {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

        status, asked = post("ask", host="over-http", lease_seconds=30)
        self.assertEqual((status, asked["kind"], asked["trial"]), (200, "Asked", 1), asked)
        self.assertEqual(post("ask")[1]["attempt_token"], asked["attempt_token"], "a repeated call, the same trial")
        token = {"attempt_token": asked["attempt_token"]}
        status, reported = post("report", **token, step=1, metrics={"loss_here": 5.0, "other": None})
        self.assertEqual((status, reported["kind"], reported["stop"]), (200, "Reported", False), reported)
        value = abs(asked["values"]["x"])
        status, told = post("tell", **token, end="finished", metrics={"loss_here": value})
        self.assertEqual((status, told["kind"], told["state"], told["counted"]), (200, "Told", "finished", True), told)
        asked = post("ask")[1]
        post("tell", attempt_token=asked["attempt_token"], end="failed", message="no luck")
        over = post("ask")[1]
        self.assertEqual((over["trial"], over["none_left"], over["over"]), (0, True, True), over)
        self.assertEqual([(one.state, one.message or "") for one in study.trials],
                         [("finished", ""), ("failed", "no luck")])
        self.assertEqual(study.best_value, min(value, 5.0))
        self.assertEqual(post("tell", **token, end="done")[0], 400)
        self.assertEqual(post("report", attempt_token="00" * 16)[0], 404)
        status, refused = post("report", **token, step=1, metrics={"x" * 200: 1.0})
        self.assertEqual(status, 200, "a trial that has ended takes nothing more")
        self.assertTrue(refused["stop"])
        status, _ = post("report", **token, metrics={f"m{i}": 1.0 for i in range(40)})
        self.assertEqual(status, 400)

    def test_a_cancelled_trial_is_noticed_without_a_report(self) -> None:
        study = self.client.study(name="cancelled", n_trials=1)
        trial = study.ask()
        self.client.cancel(trial.id, reason="enough")
        until("the client notices", trial.should_stop)
        self.assertEqual(trial.stop_reason, "enough")
        self.assertFalse(study.tell(trial, 1.0))
        self.assertEqual(study.trials[0].state, "cancelled")

    def test_a_script_for_optuna_changes_one_import(self) -> None:
        study = optuna.create_study(study_name="optuna", client=self.client, sampler=optuna.samplers.TPESampler(seed=1))
        seen = []
        study.optimize(square, n_trials=4, callbacks=[lambda study, trial: seen.append(trial.number)])
        study.optimize(square, n_trials=2)
        self.assertEqual(seen, [0, 1, 2, 3])
        self.assertEqual([one.state for one in study.trials], 6 * ["COMPLETE"])
        self.assertEqual(study.best_value, min(one.value for one in study.trials))
        self.assertEqual(list(study.best_params), ["x"])
        self.assertEqual(len(study.trials_dataframe()["params_x"]), 6)
        trial = study.ask()
        trial.suggest_float("x", -10, 10)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        self.assertEqual(study.trials[-1].state, "FAIL")
        with self.assertRaises(optuna.DuplicatedStudyError):
            optuna.create_study(study_name="optuna", client=self.client)
        self.assertEqual(len(optuna.load_study(study_name="optuna", client=self.client).trials), 7)

    def test_callbacks_of_optuna_come_after_each_trial_in_all_threads(self) -> None:
        study = optuna.create_study(study_name="callbacks", client=self.client)
        seen: list[tuple[str, bool]] = []
        together = threading.Barrier(2, timeout=PATIENCE_SECONDS)

        def objective(trial: dtrain.StudyTrial) -> float:
            together.wait()
            return square(trial)

        study.optimize(objective, n_trials=2, n_jobs=2,
                       callbacks=[lambda study, trial: seen.append((trial.state, trial.value is not None))])
        self.assertEqual(seen, 2 * [("COMPLETE", True)])

    def test_the_examples_of_the_guide_run(self) -> None:
        cells = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
        self.assertGreater(len(cells), 3)
        names: dict = {}
        with mock.patch.dict(os.environ, {"DTCTL_ADDRESS": self.cluster.address}):
            for cell in cells:
                exec(cell, names)
        self.assertEqual(len(names["study"].trials), 20)


class OptunaWordsTest(unittest.TestCase):
    def _settings(self, sampler: object = None, pruner: object = None) -> dict:
        return optuna._settings(sampler, pruner)

    def test_arguments_count_with_and_without_their_names(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(self._settings(pruner=optuna.pruners.MedianPruner(5, 30))["stop"],
                             {"median": {"after": 30}})
            self.assertEqual(self._settings(pruner=optuna.pruners.PatientPruner(None, 7))["stop"], {"patience": 7})
            self.assertEqual(self._settings(pruner=optuna.pruners.HyperbandPruner(1, 81, 3))["asha"],
                             {"eta": 3, "rungs": 3, "brackets": 3})
        halving = optuna.pruners.SuccessiveHalvingPruner(max_resource=40)
        self.assertEqual(self._settings(pruner=halving)["asha"], {"eta": 4, "rungs": 2})
        self.assertEqual(self._settings(optuna.samplers.GridSampler({"x": (1, 2)}))["space"], {"x": [1, 2]})

    def test_an_argument_without_a_meaning_is_named(self) -> None:
        with self.assertWarnsRegex(UserWarning, "MedianPruner: n_startup_trials has no meaning here"):
            optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=30)
        for wrong in (lambda: optuna.pruners.NopPruner(1),
                      lambda: self._settings(pruner=optuna.pruners.PatientPruner()),
                      lambda: self._settings(pruner=optuna.pruners.SuccessiveHalvingPruner()),
                      lambda: self._settings(optuna.samplers.GridSampler({"x": [1]}),
                                             optuna.pruners.HyperbandPruner(max_resource=9))):
            with self.assertRaises(dtrain.UsageError):
                wrong()


if __name__ == "__main__":
    unittest.main()
