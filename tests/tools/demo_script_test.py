"""./dev demo with a stand-in for dtctl: whatever happens to the script, it ends what it started and removes nothing."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 30

# The script as ./dev runs it, without its build.
DRIVER = """
set -euo pipefail
root="$DEMO_ROOT"
source "{tools}/common.sh"
source "{tools}/demo.sh"
setup() {{ :; }}
build_preset() {{ :; }}
command_demo "$@"
"""

# Notes its arguments; waits at the command that HOLD names; fails at the command that FAIL names.
DTCTL = """#!/bin/bash
echo "$*" >>"$DEMO_ROOT/calls"
for word in "$@"; do
  if [ "$word" = "${HOLD:-}" ]; then touch "$DEMO_ROOT/held"; exec /bin/sleep 300; fi
  if [ "$word" = "${FAIL:-}" ]; then exit 7; fi
done
case "$*" in
  *json*) echo "{\\"data\\": \\"$DEMO_ROOT/data\\"}" ;;
  *tokenize*)
    while [ "$1" != --output ]; do shift; done
    mkdir -p "$2"
    touch "$2/train_000000.bin"
    ;;
esac
"""


def receive_signals():
    # The parent of the tests may ignore some signals, and bash cannot trap signals ignored at its
    # start.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class DemoScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        (self.root / "data").mkdir()
        dtctl = self.root / "build/dev/bin/dtctl"
        dtctl.parent.mkdir(parents=True)
        dtctl.write_text(DTCTL, encoding="utf-8")
        dtctl.chmod(0o755)

    def start(self, *arguments: str, **more: str) -> subprocess.Popen:
        (self.root / "calls").unlink(missing_ok=True)
        (self.root / "held").unlink(missing_ok=True)
        log = open(self.root / "log", "wb")
        self.addCleanup(log.close)
        script = subprocess.Popen(["bash", "-c", DRIVER.format(tools=ROOT / "tools"), "demo", *arguments],
                                  env=dict(os.environ, DEMO_ROOT=str(self.root), **more), stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, start_new_session=True, preexec_fn=receive_signals)
        self.addCleanup(script.wait)
        return script

    def run_to_end(self, *arguments: str, **more: str) -> int:
        return self.start(*arguments, **more).wait(DEADLINE_SECONDS)

    def log(self) -> str:
        return (self.root / "log").read_text(encoding="utf-8")

    def calls(self) -> list[str]:
        """Returns the names of the commands that dtctl was called with."""
        names = ("up", "tokenize", "submit", "down")
        lines = (self.root / "calls").read_text(encoding="utf-8").splitlines()
        return [next(name for name in names if name in line.split()) for line in lines]

    def test_a_demo_ends_the_programs_that_it_started(self):
        self.assertEqual(self.run_to_end("--exit"), 0, self.log())
        self.assertEqual(self.calls(), ["up", "up", "tokenize", "submit", "down"])
        self.assertTrue((self.root / "data/quickstart/train_000000.bin").exists())

    def test_without_exit_the_programs_stay_until_stop(self):
        self.assertEqual(self.run_to_end(), 0, self.log())
        self.assertEqual(self.calls()[-1], "submit")
        self.assertIn("./dev demo --stop", self.log())
        self.assertEqual(self.run_to_end("--stop"), 0, self.log())
        self.assertEqual(self.calls(), ["down"])

    def test_files_of_others_stay(self):
        (self.root / "data/quickstart").mkdir()
        (self.root / "data/mine").write_text("precious", encoding="utf-8")
        (self.root / "data/quickstart/mine").write_text("precious", encoding="utf-8")
        self.assertEqual(self.run_to_end("--exit"), 0, self.log())
        self.assertEqual(self.calls(), ["up", "up", "submit", "down"])
        for path in ("mine", "quickstart/mine"):
            self.assertEqual((self.root / "data" / path).read_text(encoding="utf-8"), "precious")

    def test_an_interrupted_demo_ends_its_programs_wherever_it_was(self):
        for point in ("up", "tokenize", "submit"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(point=point, signal=number.name):
                    script = self.start("--exit", HOLD=point)
                    until(f"held at {point}", (self.root / "held").exists)
                    if number == signal.SIGINT:  # as the terminal sends it
                        os.killpg(script.pid, number)
                    else:
                        script.send_signal(number)
                    self.assertEqual(script.wait(DEADLINE_SECONDS), 128 + number, self.log())
                    self.assertEqual(self.calls()[-1], "down")
                    if point == "tokenize":
                        self.assertFalse((self.root / "data/quickstart").exists(), "whole or not at all")
                    # Its children have ended too.
                    until("nothing left", lambda: not self.left(script.pid))

    def left(self, session: int) -> list[str]:
        found = subprocess.run(["ps", "-o", "stat=", "-s", str(session)], capture_output=True, text=True)
        return [state for state in found.stdout.split() if not state.startswith("Z")]

    def test_a_failing_command_is_the_demos_failure_and_ends_its_programs(self):
        for point in ("up", "tokenize", "submit"):
            with self.subTest(point=point):
                self.assertEqual(self.run_to_end(FAIL=point), 7, self.log())
                self.assertEqual(self.calls()[-1], "down")


if __name__ == "__main__":
    unittest.main()
