"""Submits the files of examples/public as they are, each beside a stand-in that prints or writes as the script does.

usage: public_scripts_test.py PROGRAMS_DIR
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAND_IN = ROOT / "tests/e2e/stand_in.py"
# The trial that is killed must not be stopped early while it waits for its checkpoint.
NO_RUNGS = ("--set", "search.method=random")
NO_MEDIAN = ("--set", "stop.median.after=100")
FILES = ROOT / "examples/public"
SECONDS = 200


class PublicScripts(unittest.TestCase):
    programs: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.home = pathlib.Path(folder.name)
        cls.variables = {key: value for key, value in os.environ.items()
                         if not key.startswith(("DTCTL_", "XDG_", "PYTHON", "DTRAIN_"))}
        cls.variables |= {"HOME": str(cls.home), "XDG_RUNTIME_DIR": str(cls.home)}
        cls.dtctl("up", "--slots", "2")
        cls.addClassCleanup(cls.dtctl, "down")

    @classmethod
    def dtctl(cls, *words: str) -> str:
        done = subprocess.run([cls.programs / "dtctl", *words], cwd=cls.home, env=cls.variables, capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise AssertionError(f"dtctl {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def sweep(self, file: str, script: str, form: str, *options: str) -> tuple[str, list[dict]]:
        """Submits the file beside a stand-in with this name; returns the experiment and its four trials, all done."""
        folder = self.home / form
        (folder / "data/shakespeare_char").mkdir(parents=True)
        (folder / "data/shakespeare_char/train.bin").write_text("tokens")
        (folder / script).write_text(f"{STAND_IN.read_text(encoding='utf-8')}\n\n{form}()\n", encoding="utf-8")
        (folder / file).write_text((FILES / file).read_text(encoding="utf-8"), encoding="utf-8")
        experiment = self.dtctl("submit", str(folder / file), "--id-only", *options).split()[0]
        self.dtctl("wait", experiment)
        trials = json.loads(self.dtctl("get", "trials", experiment, "-o", "json"))["items"]
        self.assertEqual([trial["state"] for trial in trials], ["finished"] * 4, trials)
        return experiment, trials

    def expect_metric(self, experiment: str, trials: list[dict], metric: str, best_lr: float | None = None) -> None:
        """Checks that no trial has a hint, and that the best one is known."""
        self.assertEqual([trial["hint"] for trial in trials if trial.get("hint")], [])
        best = self.dtctl("best", experiment)
        self.assertIn(metric.upper().replace("_", " ") if metric == "val_loss" else metric, best)
        if best_lr is not None:
            self.assertRegex(best, rf"(?m)^\d+/\d+ +{best_lr:g} ")

    def expect_resume(self, trials: list[dict], step: int) -> str:
        """Checks that the killed trial went on from a checkpoint of the script's own files; returns its log."""
        killed, = [trial["id"] for trial in trials if trial["attempts"] > 1]
        explained = self.dtctl("explain", killed)
        self.assertIn(f"resumes from step {step}", explained)
        self.assertIn("SIGKILL", explained)
        self.assertNotIn("scaler =", explained, "a warning is no reason")
        return self.dtctl("logs", killed)

    def test_lines_with_a_step_and_a_checkpoint_in_a_file(self):
        experiment, trials = self.sweep("nanogpt.yaml", "train.py", "nanogpt", *NO_RUNGS)
        self.expect_metric(experiment, trials, "val_loss")
        self.assertIn("Resuming training from out", self.expect_resume(trials, 100))

    def test_an_epoch_in_one_line_and_its_numbers_in_another(self):
        experiment, trials = self.sweep("pytorch-mnist.yaml", "main.py", "mnist", "--set",
                                        f"workdir={self.home / 'mnist'}")
        self.expect_metric(experiment, trials, "accuracy", 0.001)

    def test_numbers_in_a_table_of_the_log(self):
        experiment, trials = self.sweep("pytorch-word-language-model.yaml", "main.py", "word_language_model")
        self.expect_metric(experiment, trials, "val_loss")

    def test_a_csv_file_and_a_checkpoint_in_a_file(self):
        experiment, trials = self.sweep("timm.yaml", "train.py", "timm", "--set", "resources.env.IMAGES=/images",
                                        *NO_MEDIAN)
        self.expect_metric(experiment, trials, "eval_top1", 0.01)
        self.expect_resume(trials, 2)

    def test_tensorboard_and_checkpoints_in_folders(self):
        experiment, trials = self.sweep("transformers-run-clm.yaml", "run_clm.py", "run_clm", *NO_RUNGS)
        self.expect_metric(experiment, trials, "eval/loss")
        self.assertIn("Continuing training from global step 100", self.expect_resume(trials, 100))

    def test_tensorboard_in_a_folder_of_each_trial(self):
        experiment, trials = self.sweep("lightning-mnist.yaml", "backbone_image_classifier.py", "lightning", "--set",
                                        f"workdir={self.home / 'lightning'}")
        self.expect_metric(experiment, trials, "valid_loss_epoch", 0.001)


if __name__ == "__main__":
    PublicScripts.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
