"""Runs the tutorial and the README's first section as a reader does: writes their files, runs their commands in order.

usage: tutorial_test.py PROGRAMS_DIR

A block after `<!-- file: NAME -->` is a file. A block marked `sh` is a shell's text; every command of it must succeed.
Other blocks are only shown. The programs are those of PROGRAMS_DIR, so a line that installs them is left out.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorial/your-script.md"
README = ROOT / "README.md"
BLOCK = re.compile(r"(?ms)^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$")
SECONDS = 300  # a block takes a tenth of it on two free cores
# Shows why a command may wait.
LOOK = """dtctl get experiments; dtctl get trials last; dtctl get workers; dtctl explain last
tail -n 40 ~/.local/state/dtrain/local/logs/*"""


class Tutorial(unittest.TestCase):
    programs: pathlib.Path

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.work = self.home / "work"
        self.work.mkdir()
        self.variables = {key: value for key, value in os.environ.items()
                          if not key.startswith(("DTCTL_", "XDG_", "PYTHON", "DTRAIN_"))}
        self.variables |= {"HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home),
                           "PATH": f"{self.programs}:{os.environ['PATH']}"}
        self.addCleanup(self.run_text, "dtctl down || true")

    def run_text(self, text: str) -> str:
        try:
            done = subprocess.run(["bash", "-e"], input=text, cwd=self.work, env=self.variables, capture_output=True,
                                  text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired as late:
            state = subprocess.run(["bash", "-c", LOOK], env=self.variables, capture_output=True, text=True,
                                   timeout=SECONDS, check=False)
            self.fail(f"not within {SECONDS} s:\n{text}\n{late.stdout}\n{late.stderr}\n{state.stdout}\n{state.stderr}")
        self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def trials(self, experiment: int) -> list[dict]:
        return json.loads(self.run_text(f"dtctl get trials {experiment} -o json"))["items"]

    def run_page(self, text: str, before_down=lambda printed: None) -> list[str]:
        """Returns what each block of commands printed. `before_down` gets that before the programs end."""
        printed: list[str] = []
        for block in BLOCK.finditer(text):
            if block["file"]:
                (self.work / block["file"]).write_text(block["text"], encoding="utf-8")
            elif block["language"] == "sh":
                if "dtctl down" in block["text"]:
                    before_down(printed)
                printed.append(self.run_text(re.sub(r"(?m)^pip install .*\n", "", block["text"])))
        return printed

    def test_every_command_of_the_tutorial_works_as_written(self):
        self.run_page(PAGE.read_text(encoding="utf-8"), self.check_results)

    def test_the_first_section_of_the_readme_works_as_written(self):
        section = README.read_text(encoding="utf-8").split("\n## Your script in a minute\n")[1].split("\n## ")[0]
        printed, = self.run_page(section)
        self.assertIn("Best trial:", printed)
        trials = self.trials(1)
        self.assertEqual([trial["state"] for trial in trials], ["finished"] * 20)
        self.assertIn("stopped_early", {trial["cause"] for trial in trials})

    def check_results(self, printed: list[str]) -> None:
        """Checks what the page claims about its experiments: 1 and 2 a grid, 3 a search, 4 killed, 5 on two slots."""
        sweep = next(each for each in printed if "Best trial:" in each)
        self.assertRegex(sweep, r"Best trial: +1/5 +loss 0\.0099 +lr=0\.5 momentum=0")
        for experiment, count in ((1, 6), (2, 6), (4, 6), (5, 2)):
            trials = self.trials(experiment)
            self.assertEqual([trial["state"] for trial in trials], ["finished"] * count, experiment)
            self.assertEqual({trial["step"] for trial in trials}, {100}, experiment)
        causes = [trial["cause"] for trial in self.trials(3)]
        self.assertEqual(len(causes), 20)
        self.assertGreaterEqual(causes.count("stopped_early"), 5, causes)
        self.assertTrue((self.work / "report.html").exists())
        attempts = [trial["attempts"] for trial in self.trials(4)]
        self.assertGreater(sum(attempts), len(attempts), "the kill or the pause cost an attempt")


if __name__ == "__main__":
    Tutorial.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
