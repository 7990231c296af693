"""The module that a program may import: dtrain/trial.py as dtrain.py, with the standard library alone."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

MODULE = pathlib.Path(__file__).resolve().parents[2] / "python" / "dtrain" / "trial.py"

_spec = importlib.util.spec_from_file_location("keeping", MODULE)
keeping = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(keeping)

# Functions of the programs that `keep` runs.
SAVE = """
import os, signal, sys, time
def save(name, text):
    os.makedirs("out", exist_ok=True)
    open("out/" + name, "w").write(text)
def await_reports(count):
    while len(open("reports").readlines()) < count: time.sleep(0.05)
"""


class TrialTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "module").mkdir()
        shutil.copy(MODULE, self.folder / "module" / "dtrain.py")
        self.reports = self.folder / "reports"
        self.reports.touch()

    def run_program(self, text: str, path: str = "", **variables: str) -> str:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{self.folder / 'module'}{path}", **variables}
        result = subprocess.run([sys.executable, "-B", "-c", "import dtrain\n" + text], env=environment, timeout=120,
                                cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def reported(self, text: str, **variables: str) -> list[dict]:
        self.run_program(text, DTRAIN_REPORT=str(self.reports), **variables)
        return [json.loads(line) for line in self.reports.read_text().splitlines()]

    def test_outside_dtrain_reports_are_printed(self):
        printed = self.run_program("dtrain.report(1, val_loss=2); assert dtrain.parameters() == {}")
        self.assertEqual(json.loads(printed), {"step": 1, "val_loss": 2})

    def test_reports_are_lines(self):
        class_of_numpy = "class Scalar:\n  def __float__(self): return 1.5\n"
        lines = self.reported(class_of_numpy + "dtrain.report(1, a=Scalar(), b=True); dtrain.progress(2)")
        self.assertEqual(lines, [{"step": 1, "a": 1.5, "b": True}, {"progress": 1.0}])

    def test_other_ranks_say_nothing(self):
        self.assertEqual(self.reported("dtrain.report(1, a=1); dtrain.checkpoint('x', 1)", RANK="1"), [])

    def test_the_rank_is_dtrains_own_whatever_the_launcher(self):
        self.assertEqual(self.reported("dtrain.report(1, a=1)", DTRAIN_RANK="1"), [])
        self.assertEqual(self.reported("dtrain.report(1, a=1)", DTRAIN_RANK="0", RANK="3"), [{"step": 1, "a": 1}])

    def test_a_value_that_is_no_number_never_ends_a_training(self):
        lines = self.reported("class Odd:\n  def __float__(self): raise TypeError('of two elements')\n"
                              "dtrain.report(1, {'val/AR@100': 0.5}, a=Odd(), phase='train')\n"
                              "dtrain.report(1.5, a=1); dtrain.report(-1, a=1); dtrain.report('3', a=float('nan'))")
        self.assertEqual(lines[0]["val/AR@100"], 0.5)
        self.assertEqual(lines[0]["phase"], "train")
        self.assertIsInstance(lines[0]["a"], str)
        self.assertEqual([line["step"] for line in lines], [1, 1.5, -1, 3])

    def test_the_given_environment_is_read(self):
        self.run_program("assert dtrain.parameters() == {'lr': 0.5}\nassert dtrain.rungs() == [3, 9]\n"
                         "assert dtrain.resume() == '/c' and dtrain.resumed_step() == 7",
                         DTRAIN_PARAMETERS='{"lr": 0.5}', DTRAIN_RUNGS="3,9", DTRAIN_RESUME="/c",
                         DTRAIN_RESUME_STEP="7")

    def test_a_folder_elsewhere_is_copied_to_the_storage(self):
        home = self.folder / "storage"
        home.mkdir()
        lines = self.reported("import os; os.mkdir('mine'); open('mine/w', 'w').write('x')\n"
                              "dtrain.checkpoint('mine', 4)",
                              DTRAIN_CHECKPOINT_DIR=str(home))
        self.assertEqual(pathlib.Path(lines[0]["checkpoint"]).parent, home.resolve())
        self.assertEqual((pathlib.Path(lines[0]["checkpoint"]) / "w").read_text(), "x")
        self.assertTrue((self.folder / "mine" / "w").exists())

    def test_sigterm_asks_to_stop(self):
        self.run_program("assert not dtrain.should_stop()\nimport os\n"
                         f"os.kill(os.getpid(), {int(signal.SIGTERM)})\nassert dtrain.should_stop()")

    def keep(self, program: str, status: int = 0, **variables: str) -> list[str]:
        """Runs a program below `keep`, with out/*.pt as its pattern; returns the folders that it reported."""
        home = self.folder / "storage"
        home.mkdir(exist_ok=True)
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.folder / "module"),
                       "DTRAIN_CHECKPOINT_DIR": str(home), "DTRAIN_REPORT": str(self.reports), **variables}
        result = subprocess.run([sys.executable, "-B", "-m", "dtrain", "keep", "out/*.pt", "--", sys.executable, "-c",
                                 SAVE + program], env=environment, timeout=120, cwd=self.folder, check=False,
                                stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, status, result.stderr)
        self.errors = result.stderr
        return [json.loads(line)["checkpoint"] for line in self.reports.read_text().splitlines()]

    def test_what_an_unchanged_program_saves_becomes_a_checkpoint(self):
        folder, = self.keep("save('a.pt', 'weights'); save('log.txt', 'x')")
        saved = pathlib.Path(folder)
        self.assertEqual(sorted(each.name for each in saved.rglob("*")), ["a.pt", "out"])
        self.assertEqual((saved / "out/a.pt").read_text(), "weights")

    def test_a_file_counts_once_it_is_settled_and_each_change_again(self):
        folders = self.keep("save('a.pt', '1'); await_reports(1); save('a.pt', '2'); await_reports(2)")
        self.assertEqual([(pathlib.Path(each) / "out/a.pt").read_text() for each in folders], ["1", "2"])

    def test_a_program_that_saves_all_the_time_is_kept_in_its_short_pauses(self):
        changes = keeping._Changes({}, 0.0)

        def complete(now: float, being_written: bool = False) -> bool:
            return changes.complete(now, lambda files: being_written)

        for tenths in range(0, 120, 5):
            changes.note({"a.pt": (1, tenths)}, tenths / 10)
        # The last change was at 11.5 s.
        self.assertFalse(complete(11.7))
        self.assertTrue(complete(12.1))
        self.assertFalse(complete(12.1, being_written=True))
        self.assertTrue(complete(13.6, being_written=True))  # as a file that stays open for a log
        changes.copied()
        changes.note({"a.pt": (1, 200)}, 20.0)
        self.assertFalse(complete(20.7))
        self.assertTrue(complete(22.0))

    def test_files_that_never_settle_are_named_once(self):
        changes = keeping._Changes({}, 0.0)
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            for second in range(130):
                changes.note({"out/a.pt": (1, 0), "out/log": (second, second)}, float(second))
        self.assertEqual(errors.getvalue().count("nothing was kept for 60 s"), 1)
        self.assertIn("all the time: out/log. Save less often", errors.getvalue())

    def test_a_file_that_a_process_below_writes_is_known(self):
        path = self.folder / "a.pt"
        path.touch()
        files = keeping._files(["a.pt"], str(self.folder))
        here = {str(path): facts for facts in files.values()}
        for mode, written in (("w", True), ("a", True), ("r", False)):
            with open(path, mode, encoding="utf-8") as file:
                child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=file if written else None,
                                         stderr=None if written else file)
                try:
                    self.assertEqual(keeping._being_written(here), written, mode)
                finally:
                    child.communicate(timeout=60)
        self.assertFalse(keeping._being_written(here))

    def test_a_failed_program_leaves_no_half_written_checkpoint(self):
        self.assertEqual(self.keep("save('a.pt', 'half'); sys.exit(3)", 3), [])
        self.assertEqual(self.keep("save('a.pt', 'half'); os.kill(os.getpid(), 9)", 137), [])

    def test_other_ranks_keep_nothing(self):
        self.assertEqual(self.keep("save('a.pt', 'weights')", DTRAIN_RANK="1"), [])

    def test_a_resume_brings_the_files_back(self):
        saved = self.folder / "checkpoint"
        (saved / "out").mkdir(parents=True)
        (saved / "out/a.pt").write_text("old")
        (saved / "out/a.pt").chmod(0o400)
        (saved / "manifest.json").write_text("{}")
        folders = self.keep("assert open('out/a.pt').read() == 'old'; assert not os.path.exists('manifest.json')",
                            DTRAIN_RESUME=str(saved))
        self.assertEqual(folders, [], "nothing new was saved")
        self.assertEqual(len(self.keep("save('a.pt', 'newer')", DTRAIN_RESUME=str(saved))), 1)

    def test_a_link_is_kept_as_its_file(self):
        folder, = self.keep("save('1.bin', 'weights'); os.symlink('1.bin', 'out/last.pt'); os.symlink('x', 'out/x.pt')")
        kept, = [each for each in pathlib.Path(folder).rglob("*") if not each.is_dir()]
        self.assertEqual((kept.name, kept.is_symlink(), kept.read_text()), ("last.pt", False, "weights"))

    def test_a_resume_brings_hidden_files_back_and_leaves_a_links_file_alone(self):
        saved = self.folder / "checkpoint"
        (saved / ".cache").mkdir(parents=True)
        (saved / ".cache/a").write_text("hidden")
        (saved / "last").write_text("old")
        (self.folder / "newest").write_text("new")
        (self.folder / "last").symlink_to("newest")
        self.keep("assert open('.cache/a').read() == 'hidden' and open('last').read() == 'old'",
                  DTRAIN_RESUME=str(saved))
        self.assertEqual((self.folder / "newest").read_text(), "new")

    def test_a_pattern_without_a_file_is_reported_at_a_good_end(self):
        self.keep("save('a.bin', 'weights')")
        self.assertEqual(self.errors, "dtrain: no file matched out/*.pt: nothing was kept\n")
        self.keep("sys.exit(3)", 3)
        self.assertEqual(self.errors, "")

    def test_ctrl_c_of_a_terminal_comes_to_the_program_once(self):
        # Python takes the lower of two waiting signals first, in `keep` and in the program.
        self.keep("signal.signal(2, lambda *_: sys.exit(5)); signal.signal(15, lambda *_: sys.exit(6))\n"
                  "os.kill(os.getppid(), 2); os.kill(os.getppid(), 15); signal.pause()", 6)

    def test_a_stop_reaches_the_program(self):
        self.keep("signal.signal(15, lambda *_: sys.exit(4)); os.kill(os.getppid(), 15); signal.pause()", 4)

    def test_a_program_that_cannot_be_started_is_named(self):
        result = subprocess.run([sys.executable, "-B", MODULE, "keep", "out", "--", "no-such-program"],
                                cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual((result.returncode, result.stderr),
                         (127, "dtrain: cannot start no-such-program: No such file or directory\n"))

    def test_a_program_has_the_descriptors_that_it_would_have_without_keep(self):
        kept = self.folder / "descriptor"
        with open(kept, "w", encoding="utf-8") as file:
            os.set_inheritable(file.fileno(), True)
            subprocess.run([sys.executable, "-B", MODULE, "keep", "out", "--", "/bin/sh", "-c",
                            f"echo here >&{file.fileno()}"], cwd=self.folder, close_fds=False, timeout=120, check=True)
        self.assertEqual(kept.read_text(), "here\n")

    def test_keep_without_a_program_or_a_pattern_below_the_folder_shows_its_usage(self):
        for words in ([], ["keep", "--", "x"], ["keep", "out", "--"], ["keep", "/tmp", "--", "x"],
                      ["keep", "../x", "--", "x"], ["other", "a", "--", "x"]):
            result = subprocess.run([sys.executable, "-B", MODULE, *words], capture_output=True, text=True, timeout=120)
            self.assertEqual((result.returncode, result.stderr[:6]), (1, "usage:"), words)

    def test_an_installed_client_comes_first(self):
        installed = self.folder / "installed" / "dtrain"
        installed.mkdir(parents=True)
        (installed / "__init__.py").write_text("Client = 1\n")
        self.run_program("assert dtrain.Client == 1\ndtrain.report(1, a=1)", f":{installed.parent}")
        (installed / "__init__.py").write_text("import no_such_module\n")
        self.run_program("dtrain.report(1, a=1)", f":{installed.parent}")


if __name__ == "__main__":
    unittest.main()
