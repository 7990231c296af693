"""./dev demo with stand-ins for its programs: whatever happens to the script, no process is left behind."""

import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 30

# The script as ./dev runs it, without its build. HOLD names what waits until the test lets it go on.
DRIVER = """
set -euo pipefail
root="$DEMO_ROOT"
source "{tools}/common.sh"
source "{tools}/demo.sh"
setup() {{ :; }}
build_preset() {{ :; }}
kept_patience=1
if [ "${{HOLD:-}}" = note ]; then
  eval "noted() $(declare -f keep_note | tail -n +2)"
  {hold}
  keep_note() {{
    if [ "$1" = dtcoord ]; then hold note; fi
    noted "$1"
  }}
fi
command_demo "$@"
"""

# hold POINT: says that it is there, and waits where the test asked for it.
HOLD = """#!/bin/bash
hold() {
  [ "${HOLD:-}" = "$1" ] || return 0
  touch "$DEMO_ROOT/held"
  until [ -e "$DEMO_ROOT/go" ]; do /bin/sleep 0.01; done
}
"""

STAND_INS = {
    # The process is in the list, and its exec takes its time.
    "path/setsid": HOLD + 'hold exec\nexec /usr/bin/setsid "$@"\n',
    # Counts how often the script has looked.
    "path/sleep": '#!/bin/bash\necho >>"$DEMO_ROOT/looks"\nexec /bin/sleep "$@"\n',
    "build/dev/bin/dtctl": HOLD + 'if [ "$1" = data ]; then hold data; else hold follow; fi\n',
    "build/dev/bin/dtcoord": """#!/bin/bash
if [ -e "$DEMO_ROOT/broken" ]; then echo 'no such state'; exit 1; fi
while [ "$1" != --addresses-file ]; do shift; done
echo '{"grpc": "127.0.0.1:1", "http": "127.0.0.1:2"}' >"$2.new"
mv "$2.new" "$2"
exec /bin/sleep 300
""",
    # With a trainer of its own.
    "build/dev/bin/dtworker": """#!/bin/bash
/bin/sleep 300 &
if [ -e "$DEMO_ROOT/stubborn" ]; then
  trap '' TERM
  touch "$DEMO_ROOT/deaf"
  while true; do wait; /bin/sleep 300; done
fi
trap 'kill $!' TERM
wait
""",
}


def until(what: str, probe):
    deadline = time.monotonic() + DEADLINE_SECONDS
    pause = threading.Event()
    while not (value := probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {DEADLINE_SECONDS} s")
        pause.wait(0.01)
    return value


def receive_signals():
    # Who runs the tests may ignore some, and bash cannot trap what was ignored when it began.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class DemoScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(self.kill_all)
        self.root = pathlib.Path(folder.name).resolve()
        for name, text in STAND_INS.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        self.environment = dict(os.environ, DEMO_ROOT=str(self.root), PATH=f"{self.root}/path:{os.environ['PATH']}")
        self.pids = self.root / "build/demo/pids"

    def start(self, *arguments: str, hold: str = "") -> subprocess.Popen:
        for name in ("held", "go", "looks"):
            (self.root / name).unlink(missing_ok=True)
        log = open(self.root / "log", "wb")
        self.addCleanup(log.close)
        script = subprocess.Popen(["bash", "-c", DRIVER.format(tools=ROOT / "tools", hold=HOLD), "demo", *arguments],
                                  env=dict(self.environment, HOLD=hold), stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, start_new_session=True, preexec_fn=receive_signals)
        self.addCleanup(script.wait)
        return script

    def run_to_end(self, *arguments: str) -> int:
        return self.start(*arguments).wait(DEADLINE_SECONDS)

    def start_held(self, point: str) -> subprocess.Popen:
        script = self.start("--exit", hold=point)
        until(f"held at {point}", (self.root / "held").exists)
        return script

    def let_go(self):
        (self.root / "go").touch()

    def log(self) -> str:
        return (self.root / "log").read_text(encoding="utf-8")

    def left(self) -> dict[int, str]:
        """The processes of this test, by the environment that they all have."""
        mark = f"DEMO_ROOT={self.root}".encode()
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                pass
        return found

    def kill_all(self):
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)

    def assert_nothing_left(self):
        # What a stand-in ran for a moment may outlive it by that.
        until(f"nothing left\n{self.log()}", lambda: not self.left())
        self.assertFalse(self.pids.exists())

    def test_a_demo_ends_with_what_it_started(self):
        self.assertEqual(self.run_to_end("--exit"), 0, self.log())
        self.assert_nothing_left()

    def test_a_program_whose_exec_takes_its_time_counts_as_there(self):
        script = self.start_held("exec")
        looks = self.root / "looks"
        until("three looks", lambda: looks.exists() and looks.read_text(encoding="utf-8").count("\n") >= 3)
        self.let_go()
        self.assertEqual(script.wait(DEADLINE_SECONDS), 0, self.log())
        self.assert_nothing_left()

    def test_a_coordinator_that_ends_at_once_is_an_error_with_its_log(self):
        (self.root / "broken").touch()
        self.assertEqual(self.run_to_end("--exit"), 1)
        self.assertIn("dtcoord ended; its log:", self.log())
        self.assertIn("no such state", self.log())
        self.assert_nothing_left()

    def test_an_interrupted_demo_leaves_nothing_wherever_it_was(self):
        for point in ("data", "note", "exec", "follow"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                with self.subTest(point=point, signal=number.name):
                    script = self.start_held(point)
                    if number == signal.SIGINT:  # as the terminal sends it
                        os.killpg(script.pid, number)
                    else:
                        script.send_signal(number)
                    if point == "note":  # on its way into the list: waited for
                        self.let_go()
                    self.assertEqual(script.wait(DEADLINE_SECONDS), 128 + number, self.log())
                    self.assert_nothing_left()

    def test_stop_ends_what_a_killed_script_left_wherever_it_was(self):
        for point in ("data", "exec", "follow"):
            with self.subTest(point=point):
                script = self.start_held(point)
                script.kill()
                script.wait(DEADLINE_SECONDS)
                self.assertNotEqual(self.left(), {})
                self.assertEqual(self.run_to_end("--stop"), 0, self.log())
                self.assert_nothing_left()

    def test_stop_waits_for_a_process_that_is_not_yet_in_the_list(self):
        script = self.start_held("note")
        script.kill()
        script.wait(DEADLINE_SECONDS)
        stop = self.start("--stop")
        until("stop waits", lambda: any(line.startswith("flock ") for line in self.left().values()))
        self.let_go()
        self.assertEqual(stop.wait(DEADLINE_SECONDS), 0, self.log())
        self.assert_nothing_left()

    def test_without_exit_the_programs_stay_until_stop(self):
        self.assertEqual(self.run_to_end(), 0, self.log())
        self.assertEqual(sum("dtworker" in line for line in self.left().values()), 2)
        self.assertEqual(self.run_to_end("--stop"), 0, self.log())
        self.assert_nothing_left()
        self.assertEqual(self.run_to_end("--stop"), 0, self.log())

    def test_a_second_demo_ends_the_first(self):
        first = self.start_held("follow")
        self.assertEqual(self.run_to_end("--exit"), 0, self.log())
        self.assertNotEqual(first.wait(DEADLINE_SECONDS), 0)
        self.assert_nothing_left()

    def test_a_program_that_does_not_end_is_killed_with_its_children(self):
        (self.root / "stubborn").touch()
        script = self.start_held("follow")
        until("the worker is deaf", (self.root / "deaf").exists)
        self.let_go()
        self.assertEqual(script.wait(DEADLINE_SECONDS), 0, self.log())
        self.assert_nothing_left()

    def test_a_number_that_is_another_process_now_is_left_alone(self):
        other = subprocess.Popen(["/bin/sleep", "300"], start_new_session=True)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.pids.parent.mkdir(parents=True)
        self.pids.write_text(f"{other.pid} 1 dtcoord\n", encoding="utf-8")
        self.assertEqual(self.run_to_end("--stop"), 0, self.log())
        self.assertIsNone(other.poll())
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
