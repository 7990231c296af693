"""Runs a coordinator, two workers and an experiment as real processes on loopback, for tests from outside.

The system chooses ports, every wait has a deadline, and leaving the `with` block ends every process that it started.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402


class LiveRun:
    def __init__(self, programs: pathlib.Path):
        self.programs = programs
        self.folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        self.path = pathlib.Path(self.folder.name)
        self.processes: list[tuple[str, subprocess.Popen]] = []
        self.addresses: dict[str, str] = {}

    def __enter__(self) -> "LiveRun":
        return self

    def __exit__(self, failure, *unused) -> None:
        if failure is not None:
            for name, _ in self.processes:
                print(f"--- {name}\n{self.log(name)}", file=sys.stderr)
        for _, process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for _, process in reversed(self.processes):
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=5)
        self.folder.cleanup()

    def start(self, name: str, *command: str) -> subprocess.Popen:
        with (self.path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.path)
        self.processes.append((name, process))
        return process

    def log(self, name: str) -> str:
        return (self.path / f"{name}.log").read_text(errors="replace")[-4000:]

    def check_alive(self) -> None:
        for name, process in self.processes:
            if process.poll() is not None:
                raise AssertionError(f"{name} ended with {process.returncode}:\n{self.log(name)}")

    def start_coordinator(self) -> None:
        file = self.path / "addresses.json"
        self.start("dtcoord", str(self.programs / "dtcoord"), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                   "--state-dir", str(self.path / "state"), "--addresses-file", str(file))
        (self.path / "state").mkdir(exist_ok=True)

        def read():
            self.check_alive()
            return json.loads(file.read_text()) if file.exists() else None

        self.addresses = until("the coordinator's addresses", read, 30)

    def start_workers(self, count: int) -> None:
        for name in ("data", "storage"):
            (self.path / name).mkdir(exist_ok=True)
        for i in range(count):
            self.start(f"dtworker{i}", str(self.programs / "dtworker"), "--coordinator", self.addresses["grpc"],
                       "--slot", f"cpu:{i}", "--name", f"test/{i}", "--threads", "1",
                       "--data-root", str(self.path / "data"), "--storage", str(self.path / "storage"))

    def kill_a_trainer(self) -> None:
        """Kills a trainer of the first worker, as a crash would."""
        worker = next(process for name, process in self.processes if name == "dtworker0")
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, name, _, parent = stat.read_text().split()[:4]
            except OSError:
                continue  # it has ended
            if name == "(dttrain)" and int(parent) == worker.pid:
                os.kill(int(pid), signal.SIGKILL)
                return
        raise AssertionError("dtworker0 has no trainer to kill")

    def dtctl(self, *arguments: str, seconds: float = 60) -> str:
        done = subprocess.run([str(self.programs / "dtctl"), "--address", self.addresses.get("grpc", ""), *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"dtctl {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def make_corpus(self) -> None:
        """Generates text, the same each time, so that nothing is downloaded."""
        texts = self.path / "texts"
        texts.mkdir()
        words = "the ranks of a gang average their gradients and a journal keeps every fact of it".split()
        for i in range(8):
            lines = (" ".join(words[(i + j + k * j) % len(words)] for k in range(12)) for j in range(400))
            (texts / f"{i}.txt").write_text("\n".join(lines))
        self.dtctl("data", "tokenize", "--tokenizer", "byte", "--output", str(self.path / "data" / "live"), str(texts))


def listening_port(process: subprocess.Popen) -> int | None:
    """Returns the port of a process that lets the system choose it and does not print it."""
    sockets = set()
    for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            return int(fields[1].split(":")[1], 16)
    return None
