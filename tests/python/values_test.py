"""Conversions from messages to values, rows, frames and lines of progress; needs no coordinator."""

import dataclasses
import datetime
import io
import math
import os
import pathlib
import pickle
import re
import struct
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

from dtrain import (Diagnostic, DtrainError, FileRefusedError, UsageError, _convert, _from_messages, _limits,
                    _measurements, _notebook, _pack, _progress, _selector, _source, _tables)
from dtrain.v1 import control_pb2 as pb
from dtrain.v1 import model_pb2


class SweptTest(unittest.TestCase):
    def test_draws_have_the_words_of_the_file(self) -> None:
        bounds = {"min": 1e-5, "max": 0.5}
        for scale, words in (("", {"scale": "linear", "mean": 0.25, "std": 2.0}),
                             ("log", {"scale": "log", "median": 0.25, "factor": 2.0})):
            of = model_pb2.Range(**bounds, scale=scale, normal=model_pb2.Normal(centre=0.25, spread=2))
            self.assertEqual(_convert.swept(model_pb2.Parameter(path="lr", range=of)), {**bounds, **words})


class NotebookTest(unittest.TestCase):
    def _trial(self, **more: object) -> object:
        message = pb.TrialSummary(experiment=12, trial=3, state=model_pb2.TRIAL_FINISHED, metric_value=0.5, **more)
        message.assignments.add(path="optimizer.lr", value=model_pb2.Value(number=0.001))
        return _from_messages.trial(message)

    def test_a_result_is_a_table_with_a_link_and_nothing_of_a_persons_is_markup(self) -> None:
        client = types.SimpleNamespace(page="http://127.0.0.1:7601")
        trial = self._trial(message="<b>&")._bound(client)
        self.assertEqual(trial.url, "http://127.0.0.1:7601/#/experiments/12/trials/3")
        shown = trial._repr_html_()
        for part in ('<a href="http://127.0.0.1:7601/#/experiments/12/trials/3"', ">12/3</a>", "optimizer.lr=0.001",
                     "<td>0.5</td>", "finished", "&lt;b&gt;&amp;"):
            self.assertIn(part, shown)
        self.assertNotIn("<b>", shown)
        many = _notebook.Found([trial] * 150)
        self.assertEqual(many._repr_html_().count("<tr>"), 101)
        self.assertIn("and 50 more", many._repr_html_())
        self.assertEqual(many, [trial] * 150)

    def test_a_copy_is_values_alone(self) -> None:
        trial = self._trial()._bound(types.SimpleNamespace(page="http://x:1", lock=threading.Lock()))
        copied = pickle.loads(pickle.dumps(trial))
        self.assertEqual((copied, copied.url), (trial, ""))
        self.assertNotIn("_client", dataclasses.asdict(trial))
        with self.assertRaisesRegex(DtrainError, "without a client"):
            copied.plot()

    def test_the_pages_address_works_in_a_local_browser(self) -> None:
        for http, address, wanted in [
                ("127.0.0.1:7601", "127.0.0.1:7600", "http://127.0.0.1:7601"),
                ("127.0.0.1:7601", "unix:/run/socket", "http://127.0.0.1:7601"),
                ("127.0.0.1:7601", "alpha.example:7600", ""),
                ("0.0.0.0:7601", "alpha.example:7600,beta.example:7600", "http://alpha.example:7601"),
                ("[::]:7601", "[fd00::1]:7600", "http://[fd00::1]:7601"), ("", "127.0.0.1:7600", "")]:
            self.assertEqual(_notebook.page_address(http, address), wanted, (http, address))

    def test_a_frame_of_trials_begins_with_parameters_and_results(self) -> None:
        try:
            frame = _tables.trials_frame([self._trial()], ["optimizer.lr"])
        except DtrainError as error:
            self.skipTest(str(error))
        self.assertEqual(list(frame.columns)[:5], ["experiment", "trial", "optimizer.lr", "metric_value", "state"])
        self.assertEqual(len(set(frame.columns)), len(frame.columns))


class ConvertTest(unittest.TestCase):
    def test_an_unknown_value_is_none(self) -> None:
        message = pb.TrialSummary(experiment=12, trial=3, state=model_pb2.TRIAL_PENDING, val_loss=math.nan,
                                  best_val_loss=math.nan, metric_value=math.nan, eta_seconds=-1,
                                  comm_ratio=math.nan, comm_exposed_ratio=math.nan)
        trial = _from_messages.trial(message)
        self.assertEqual((trial.id, trial.state, trial.cause), ("12/3", "pending", None))
        for name in ("loss", "val_loss", "best_val_loss", "best_val_step", "metric_value", "metric_step",
                     "metric_newest", "eta_seconds", "tokens_per_second", "target_steps", "comm_ratio", "started_at",
                     "last_checkpoint", "training_seconds"):
            self.assertIsNone(getattr(trial, name), name)
        experiment = _from_messages.experiment(pb.ExperimentSummary(state=model_pb2.EXPERIMENT_QUEUED, eta_seconds=-1))
        self.assertEqual((experiment.best_trial, experiment.best_value, experiment.eta_seconds), (None, None, None))

    def test_a_program_is_described_without_the_fields_of_a_model(self) -> None:
        base = model_pb2.Spec()
        base.optimizer.lr = 6e-4
        base.resources.gpus = 2
        self.assertEqual(_convert.configuration(base)["optimizer"]["lr"], 6e-4)
        base.command.append("./train")
        described = _convert.configuration(base)
        self.assertNotIn("optimizer", described)
        self.assertNotIn("every", described["checkpoint"])
        self.assertEqual((described["command"], described["resources"]["gpus"]), (["./train"], 2))

    def test_times_are_in_utc_to_the_millisecond(self) -> None:
        self.assertEqual(_convert.time(1700000000123), datetime.datetime(2023, 11, 14, 22, 13, 20, 123000,
                                                                         datetime.timezone.utc))

    def test_a_state_that_this_client_does_not_know_is_its_number(self) -> None:
        self.assertEqual(_convert.word(model_pb2.Cause, 77), "77")
        self.assertEqual(_convert.word(model_pb2.Cause, model_pb2.CAUSE_WORKER_LOST), "worker_lost")

    def test_values_are_of_the_type_that_the_file_has(self) -> None:
        for message, value in [(model_pb2.Value(integer=8), 8), (model_pb2.Value(number=0.5), 0.5),
                               (model_pb2.Value(text="60s"), "60s"), (model_pb2.Value(flag=False), False),
                               (model_pb2.Value(numbers=model_pb2.NumberList(values=[0.9, 0.95])), [0.9, 0.95]),
                               (model_pb2.Value(), None)]:
            self.assertEqual(_convert.value(message), value)

    def test_a_takeover_is_shown_with_both_sets_of_values(self) -> None:
        message = pb.ExplainTrialResponse(trial=pb.TrialSummary(experiment=12, trial=3))
        message.takeovers.add(
            attempt=1, share=2, step=40, from_trial=7, reason="behind",
            taken=[model_pb2.Assignment(path="optimizer.lr", value=model_pb2.Value(number=0.1))],
            now=[model_pb2.Assignment(path="optimizer.lr", value=model_pb2.Value(number=0.08))])
        [one] = _from_messages.explanation(message).takeovers
        self.assertEqual((one.attempt, one.share, one.step, one.from_trial, one.reason), (1, 2, 40, 7, "behind"))
        self.assertEqual((one.taken, one.now), ({"optimizer.lr": 0.1}, {"optimizer.lr": 0.08}))

    def test_left_out_lines_are_reported_after_the_last_line_before_them(self) -> None:
        chunk = pb.LogLineChunk(attempt=2)
        chunk.log.text, chunk.log.rank, chunk.log.dropped_lines = "a\n\nb\n", 1, 5
        self.assertEqual([(one.text, one.dropped_lines) for one in _measurements.log_lines(chunk)],
                         [("a", 0), ("", 0), ("b", 5)])
        chunk.log.text = ""
        self.assertEqual([(one.text, one.dropped_lines) for one in _measurements.log_lines(chunk)], [("", 5)])


def page(rows=(), evaluations=(), token="") -> pb.ReadMetricsResponse:
    answer = pb.ReadMetricsResponse(next_page_token=token)
    for trial, step, loss in rows:
        answer.rows.add(trial=trial, attempt=1, row=model_pb2.StepRow(step=step, loss=loss))
    for trial, step, loss, metrics in evaluations:
        one = answer.evaluations.add(trial=trial, attempt=1,
                                     evaluation=model_pb2.Evaluation(step=step, split="val", loss=loss))
        for name, value in metrics.items():
            one.evaluation.metrics.add(name=name, value=value)
    return answer


class RowsTest(unittest.TestCase):
    def rows(self, pages, chosen=("loss", "val_loss", "reward")):
        return list(_tables.rows(12, pages, chosen, False, {1: {"optimizer.lr": 0.1}}))

    def test_an_evaluation_joins_the_row_of_its_step_or_makes_one(self) -> None:
        found = self.rows([page([(1, 1, 3.0), (1, 2, 2.0)], [(1, 2, 2.5, {}), (1, 3, 2.4, {"reward": 7.0}),
                                                             (2, 5, 9.0, {})], "more"),
                           page([(2, 4, 1.0)])])
        self.assertEqual([(row["trial"], row["step"], row.get("loss"), row.get("val_loss"), row.get("reward"))
                          for row in found],
                         [(1, 1, 3.0, None, None), (1, 2, 2.0, 2.5, None), (1, 3, None, 2.4, 7.0),
                          (2, 4, 1.0, None, None), (2, 5, None, 9.0, None)])
        self.assertEqual(found[0]["parameters"], {"optimizer.lr": 0.1})
        self.assertEqual(found[4]["parameters"], {})

    def test_values_derived_from_a_row_ignore_evaluations_and_checkpoints(self) -> None:
        answer = pb.ReadMetricsResponse()
        answer.rows.add(row=model_pb2.StepRow(step=1, tokens=100, seconds=4, eval_seconds=1, checkpoint_seconds=1,
                                              flops=50, peak_flops=100))
        [row] = _tables.rows(12, [answer], [], False, {})
        self.assertEqual((row["tokens_per_second"], row["flops_utilization_ratio"]), (50.0, 0.25))
        self.assertNotIn("noise_scale_tokens", row)

    def test_a_row_of_a_program_that_counts_no_tokens_has_none_and_no_rate(self) -> None:
        answer = pb.ReadMetricsResponse()
        answer.rows.add(row=model_pb2.StepRow(step=1, loss=2, seconds=4))
        [row] = _tables.rows(12, [answer], [], False, {})
        self.assertEqual(row["loss"], 2)
        for name in ("tokens", "tokens_per_second"):
            self.assertNotIn(name, row)

    def test_a_metric_that_a_program_named_has_a_column(self) -> None:
        found = self.rows([page([], [(1, 3, 2.4, {"reward": 7.0})])], ())
        frame = _tables.metrics_frame(found, [], False, ["optimizer.lr"])
        self.assertEqual(list(frame.columns)[-2:], ["reward", "optimizer.lr"])
        self.assertEqual(list(frame["reward"]), [7.0])
        found = self.rows([page([(1, 1, 3.0), (2, 2, 2.0)], [(2, 3, 2.4, {"reward": 7.0})])], ())
        frame = _tables.metrics_frame(found, [], False, ["optimizer.lr"])
        self.assertEqual([str(one) for one in frame["reward"]], ["nan", "nan", "7.0"])
        self.assertEqual([str(one) for one in frame["optimizer.lr"]], ["0.1", "nan", "nan"])
        self.assertEqual((str(frame["step"].dtype), str(frame["loss"].dtype)), ("int64", "float64"))

    def test_no_users_name_takes_a_built_in_column_or_that_of_another_name(self) -> None:
        paths = ["trial", "step", "loss", "reward", "parameters.trial"]
        values = {path: f"mine: {path}" for path in paths}
        pages = [page([(1, 3, 3.0)], [(1, 3, 2.4, {"reward": 7.0, "trial": 8.0, "parameters": 9.0})])]
        found = list(_tables.rows(12, pages, [], True, {1: values}))
        self.assertEqual((found[0]["trial"], found[0]["metric.trial"], found[0]["metric.parameters"]), (1, 8.0, 9.0))
        self.assertEqual(found[0]["parameters"], values)
        frame = _tables.metrics_frame(found, [], True, paths)
        self.assertEqual(len(set(frame.columns)), len(frame.columns))
        self.assertEqual((list(frame["trial"]), list(frame["step"]), list(frame["loss"])), ([1], [3], [3.0]))
        for path in paths:
            self.assertEqual(list(frame["parameters." + path]), [values[path]])

    def test_a_metric_that_nothing_has_is_refused_at_the_end(self) -> None:
        with self.assertRaisesRegex(UsageError, "there is no metric 'reward' in experiment 12"):
            self.rows([page([(1, 1, 3.0)])])


class EmptyFrameTest(unittest.TestCase):
    def test_a_frame_without_rows_has_its_columns(self) -> None:
        frame = _tables.metrics_frame([], ["loss"], True, ["optimizer.lr"])
        self.assertEqual(list(frame.columns),
                         ["experiment", "trial", "attempt", "step", "superseded", "loss", "optimizer.lr"])
        self.assertEqual(len(frame), 0)
        self.assertIn("optimizer.lr", _tables.trials_frame([], ["optimizer.lr"]).columns)

    def test_a_parameter_called_like_a_field_of_a_trial_has_a_column_beside_it(self) -> None:
        message = pb.TrialSummary(experiment=12, trial=3, state=model_pb2.TRIAL_PENDING)
        message.assignments.add(path="state", value=model_pb2.Value(text="mine"))
        frame = _tables.trials_frame([_from_messages.trial(message)], ["state"])
        self.assertEqual((list(frame["state"]), list(frame["parameters.state"])), (["pending"], ["mine"]))


class StandstillTest(unittest.TestCase):
    def experiment(self, waiting: str):
        return _from_messages.experiment(pb.ExperimentSummary(
            experiment=12, state=model_pb2.EXPERIMENT_QUEUED, trials=1, eta_seconds=-1, waiting=waiting))

    def test_the_line_says_why_nothing_runs(self) -> None:
        self.assertTrue(_progress.line(self.experiment("no worker")).endswith(", does not run: no worker"))
        self.assertNotIn("does not run", _progress.line(self.experiment("")))

    def test_without_a_terminal_a_standstill_is_reported_at_the_second_look_and_each_minute(self) -> None:
        now = 0.0
        out = io.StringIO()
        notes = _progress.Notes(out, lambda: now)
        line = _progress.standstill(self.experiment("no worker"))
        for now in (0.0, 1.0, 2.0, 60.0, 61.5):
            notes.show("not shown", 0.5)
            notes.note(line)
        self.assertEqual(out.getvalue(), "experiment 12 does not run: no worker\n" * 2)
        notes.note("")
        notes.note(line)
        self.assertEqual(out.getvalue().count("\n"), 2)

    def test_silence_is_shown_with_its_start_in_place_of_known_values(self) -> None:
        answered = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.timezone.utc)
        text = _progress.silence("12", answered, answered + datetime.timedelta(seconds=75))
        self.assertEqual(text, "experiment 12: no answer from the coordinator for 1 min 15 s, since 22:13:20 UTC; "
                               "trying again, the trials go on")


class SelectorTest(unittest.TestCase):
    def test_a_name_may_look_like_a_trial(self) -> None:
        numbers = {"gpt2": [7], "a/b": [8]}
        for text, experiment, trial in [("gpt2", 7, 0), ("gpt2/3", 7, 3), ("a/b", 8, 0), ("a/b/1", 8, 1),
                                        ("12/3", 12, 3), (12, 12, 0)]:
            found = _selector.select(text, lambda name: numbers.get(name, []))
            self.assertEqual((found.experiment, found.trial), (experiment, trial), text)
        self.assertTrue(_selector.select("last/2", lambda name: []).last)

    def test_an_empty_name_is_refused(self) -> None:
        for wrong in (0, -1, "0", "12/0", "12/", "/3", "", 1.5, None, True, "12/3/4"):
            with self.subTest(wrong), self.assertRaises(UsageError):
                _selector.select(wrong, lambda name: [])


class SourceTest(unittest.TestCase):
    def test_overrides_are_written_as_json_which_is_yaml(self) -> None:
        self.assertEqual(_source.overrides({"a.b": 1e-5, "c": "60s", "d": [0.9, 0.95], "e": True}),
                         ["a.b=1e-05", 'c="60s"', "d=[0.9, 0.95]", "e=true"])
        self.assertEqual(_source.overrides({"a": {"b": {"c": (1, 2)}}, "d": None}),
                         ['a={"b": {"c": [1, 2]}}', "d=null"])
        self.assertEqual(_source.overrides(None), [])

    def test_overrides_that_are_no_dict_are_refused(self) -> None:
        for wrong in ("name=x", [("name", "x")], ["name=x"], 3):
            with self.subTest(wrong), self.assertRaisesRegex(UsageError, "give a dict of fields and values"):
                _source.overrides(wrong)
            with self.subTest(wrong), self.assertRaises(UsageError):
                _source.code_folder("t", _source.Text("t", ""), wrong)


class ErrorTest(unittest.TestCase):
    def test_a_refusal_survives_the_way_between_processes(self) -> None:
        error = FileRefusedError([Diagnostic("error", "grid.yaml", 7, 3, "seed", "wrong_type", "no", "yes", "seed: x")])
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.diagnostics), (str(error), error.diagnostics))


class CodeTest(unittest.TestCase):
    def folder_of(self, line: str, changes=None) -> str | None:
        text = _source.Text("t", f"version: 1\n{line}\nname: x\n")
        return _source.code_folder("t", text, changes)

    def test_the_folder_is_found_in_a_line_of_its_own_in_a_dict_and_in_an_override(self) -> None:
        for line, folder in [("code: src", "src"), ("code: 'my src'  # mine", "my src"), ('code: "a b"', "a b"),
                             ("code: ../x # why", "../x"), ("code: a#b", "a#b"), ("code: x\r", "x")]:
            self.assertEqual(self.folder_of(line), folder, line)
        for line in ("  code: x", "code: |", "code: &a x", "code:", "code: # x", "# code: x"):
            self.assertIsNone(self.folder_of(line), line)
        self.assertEqual(self.folder_of("code: src", {"code": "other"}), "other")
        beside = _source.Text("/a/b/f.yaml", "", folder="/a/b")
        self.assertEqual(_source.code_folder({"code": pathlib.Path("../c")}, beside, None), "/a/c")

    def test_the_file_of_an_environment_is_packed_although_git_ignores_it(self):
        def files(source, changes=None):
            text = _source.read(source)
            return _source.environment_files(source, text, changes)

        for source in ("a: 1\nenvironment: {uv: needs/r.txt}  # x\n",
                       "a: 1\nenvironment: {python: '3.11', uv: \"needs/r.txt\", index: 'https://i/'}\n",
                       "a: 1\nenvironment:\n  python: '3.11'\n\n  # packages\n  uv: needs/r.txt  # x\nb: 2\n",
                       "a: 1\r\nenvironment:\r\n  uv: 'needs/r.txt'\r\n",
                       {"environment": {"uv": "needs/r.txt"}}, {"environment": {"uv": ["needs/r.txt"]}}):
            self.assertEqual(files(source), ["needs/r.txt"], source)
        self.assertEqual(files("a: 1\n", {"environment.uv": "needs/r.txt"}), ["needs/r.txt"])
        for source in ("a: 1\nenvironment: {conda: env.yml}\n", "environment:\n  conda: 'env.yml'  # x\n",
                       {"environment": {"conda": "env.yml"}}):
            self.assertEqual(files(source), ["env.yml"], source)
        self.assertEqual(files("a: 1\n", {"environment.conda": "env.yml"}), ["env.yml"])
        self.assertEqual(files({"environment": {"uv": "sub/uv.lock"}}), ["sub/uv.lock", "sub/pyproject.toml"])
        for source in ("a: 1\nenvironment: {uv: [numpy]}\n", "a: 1\nenvironment:\nuv: r.txt\n", {"environment": "x"},
                       "a: 1\nenvironment: {uv: ../r.txt}\n", "a: 1\nenvironment: {uv: /r.txt}\n", "a: 1\nuv: r.txt\n",
                       "environment:\n" + 5000 * "   \n" + 5000 * "  a: b\n"):
            self.assertEqual(files(source), [], source)

    def test_included_files_are_packed_although_git_ignores_them(self):
        def both(source, changes=None):
            text = _source.read(source)
            return _source.code_folder(source, text, changes), _source.code_include(source, text, changes)

        self.assertEqual(both("a: 1\ncode: {folder: src, include: [data/*.bin, 'w.pt']}  # x\n"),
                         ("src", ["data/*.bin", "w.pt"]))
        self.assertEqual(both("a: 1\ncode: {include: [a], folder: .}\n"), (".", ["a"]))
        self.assertEqual(both("code: src\ncode_include: [a, b]\n"), ("src", ["a", "b"]))
        self.assertEqual(both({"code": {"folder": "src", "include": ["a"]}}), ("src", ["a"]))
        self.assertEqual(both({"code": "src", "code_include": ["a"]}), ("src", ["a"]))
        self.assertEqual(both("a: 1\n", {"code": {"folder": "c", "include": ["d"]}}), ("c", ["d"]))
        self.assertEqual(both("code: src\n"), ("src", []))

    def test_ignored_files_are_not_packed_and_an_unreadable_ignore_file_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as empty:
            place = pathlib.Path(folder)
            texts = {"train.py": "", "secret": "", "sub/secret": "", "sub/kept.log": "", "sub/other.log": "",
                     "deep/er/x.tmp": "", "deep/er/x.py": "", "out/a/b": "", "venv/bin/python": "",
                     ".gitignore": "# mine\n/secret\n*.log\n!kept.log\nout/\n", "deep/.gitignore": "**/*.tmp\n"}
            for path, text in texts.items():
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_text(text)
            packed = _pack.pack_folder(folder)
            kept = [".gitignore", "deep/.gitignore", "deep/er/x.py", "sub/kept.log", "sub/secret", "train.py"]
            self.assertEqual(self.paths_in(packed.content), kept)
            self.assertRegex(packed.note, r"^git ignores 1 file of the code's folder, .* stay behind: secret; ")
            more = _pack.pack_folder(folder, ["out/**/b", "secret"])
            self.assertEqual(self.paths_in(more.content), sorted([*kept, "out/a/b", "secret"]))
            self.assertEqual(more.note, "")
            with self.assertRaisesRegex(UsageError, "no file below the folder .* matches 'data/\\*'"):
                _pack.pack_folder(folder, ["data/*"])
            with mock.patch.dict(os.environ, {"PATH": empty}):
                with self.assertRaisesRegex(UsageError, "has a .gitignore, which git reads.*install git"):
                    _pack.pack_folder(folder)
                (place / ".gitignore").unlink()
                (place / "deep/.gitignore").unlink()
                self.assertEqual(_pack.pack_folder(folder).files, 8)
            (place / ".gitignore").write_text("secret\n")
            (place / ".git").mkdir()
            (place / ".git/HEAD").write_text("damaged")
            packed = _pack.pack_folder(folder)
            self.assertNotIn("secret", self.paths_in(packed.content))
            self.assertIn("git status", packed.note)

    @staticmethod
    def paths_in(content: bytes) -> list[str]:
        paths, at = [], len(b"dtrain code 1\n")
        while at < len(content):
            _, length, size = struct.unpack_from("<cIQ", content, at)
            at += struct.calcsize("<cIQ")
            paths.append(content[at:at + length].decode())
            at += length + size
        return paths

    def test_a_missing_or_too_large_folder_is_refused_before_it_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, said in [("absent", "is not a folder"), (".", "has no file to send")]:
                with self.assertRaisesRegex(UsageError, said):
                    _pack.pack_folder(os.path.join(folder, name))
            with open(os.path.join(folder, "weights.bin"), "wb") as file:
                file.truncate(_limits.CODE_BYTES)
            with self.assertRaisesRegex(UsageError, r"the limit is 32 MiB. .*'weights.bin' \(32.0 MiB\)"):
                _pack.pack_folder(folder)


class LimitsTest(unittest.TestCase):
    def test_bounds_equal_those_of_the_programs(self) -> None:
        text = (pathlib.Path(__file__).resolve().parents[2] / "common/limits.h").read_text(encoding="utf-8")
        for name, ours in [("kCallDeadline", _limits.CALL_SECONDS), ("kCallDeadlineMax", _limits.CALL_SECONDS_MAX),
                           ("kSubmitPatience", _limits.SUBMIT_PATIENCE_SECONDS),
                           ("kFollowPatience", _limits.FOLLOW_PATIENCE_SECONDS),
                           ("kControlMessageBytes", _limits.MESSAGE_BYTES), ("kPageMax", _limits.LIST_PAGE),
                           ("kMetricRowsPageMax", _limits.METRIC_PAGE), ("kExperimentFileBytes", _limits.FILE_BYTES),
                           ("kContextsFileBytes", _limits.CONTEXTS_BYTES), ("kCodeBytes", _limits.CODE_BYTES),
                           ("kCodeFiles", _limits.CODE_FILES), ("kCodePartBytes", _limits.CODE_PART_BYTES),
                           ("kCodeChangesBytes", _limits.CODE_CHANGES_BYTES), ("kNameBytes", _limits.NAME_BYTES)]:
            written = re.search(rf"\b{name} = ([^;]+);", text)[1]
            numbers = written.replace("'", "_").replace("absl::Seconds", "").replace("absl::Minutes", "60 * ")
            self.assertEqual(eval(numbers), ours, name)  # "8 << 20", "(30)", "60 * (5)"


def experiment(**fields):
    return _from_messages.experiment(pb.ExperimentSummary(
        experiment=12, state=model_pb2.EXPERIMENT_RUNNING, trials=9, finished=2, failed=1, running=2,
        progress_ratio=0.45, metric="val_loss", **{"eta_seconds": -1, **fields}))


class ProgressTest(unittest.TestCase):
    def test_a_line_says_how_far_it_is(self) -> None:
        self.assertEqual(_progress.line(experiment(best_trial=2, best_value=3.012, eta_seconds=200)),
                         "experiment 12: running, 45%, 3 of 9 trials ended, 2 running, 1 failed, best val_loss 3.0120 "
                         "(12/2), 3 min 20 s left")
        self.assertEqual(_progress.line(experiment()),
                         "experiment 12: running, 45%, 3 of 9 trials ended, 2 running, 1 failed")
        several = experiment(best_trial=2, best_value=3.012, metrics=["val_loss", "seconds"], pareto_trials=[2, 5])
        self.assertTrue(_progress.line(several).endswith("1 failed, 2 on the Pareto front of val_loss, seconds"))
        self.assertEqual([several._summary()[name] for name in ("metric", "best")], ["val_loss, seconds", "front of 2"])

    def test_a_line_is_rewritten_when_it_changes(self) -> None:
        out = io.StringIO()
        shown = _progress.RewrittenLine(out)
        for text in ("longer", "longer", "short"):
            shown.show(text, 0.5)
        shown.end()
        self.assertEqual(out.getvalue(), "\rlonger\rshort \n")

    def test_outside_terminals_and_notebooks_only_notes_are_shown(self) -> None:
        with mock.patch.object(sys, "stderr", io.StringIO()):
            self.assertIs(type(_progress.choose(None)), _progress.Notes)
            self.assertIs(type(_progress.choose(True)), _progress.RewrittenLine)
            self.assertIs(type(_progress.choose(False)), _progress.Nothing)

    def in_kernel(self, **modules):
        shell = type("ZMQInteractiveShell", (), {})()
        ipython = types.ModuleType("IPython")
        ipython.get_ipython = lambda: shell
        display = types.ModuleType("IPython.display")
        self.displayed = []
        display.display = self.displayed.append
        return mock.patch.dict(sys.modules, {"IPython": ipython, "IPython.display": display, **modules})

    def test_a_notebook_with_ipywidgets_shows_a_bar(self) -> None:
        class Widget:
            def __init__(self, *children, **fields):
                self.children = children
                self.__dict__.update(fields)

        widgets = types.ModuleType("ipywidgets")
        widgets.FloatProgress = widgets.Label = widgets.VBox = Widget
        with self.in_kernel(ipywidgets=widgets):
            shown = _progress.choose(None)
        shown.show("half", 0.5)
        shown.end()
        [box] = self.displayed
        bar, label = box.children[0]
        self.assertEqual((bar.value, bar.max, label.value), (0.5, 1.0, "half"))

    def test_a_notebook_without_ipywidgets_shows_a_line(self) -> None:
        with self.in_kernel(ipywidgets=None):
            self.assertIs(type(_progress.choose(None)), _progress.RewrittenLine)
