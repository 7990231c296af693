"""A coordinator, workers and their data as real processes on loopback, and a client for them.

The system chooses ports, every wait has a deadline, and `close` ends every process that it started. A failure prints
all logs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import dtrain

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["DTRAIN_TEST_PROGRAMS"])
PATIENCE_SECONDS = 60.0


class Cluster:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dtrain-python-")
        self.path = pathlib.Path(self._folder.name)
        self._processes: list[tuple[str, subprocess.Popen]] = []
        for name in ("state", "data", "storage", "config"):
            (self.path / name).mkdir()
        self.address = self.http = ""

    def close(self) -> None:
        for _, process in reversed(self._processes):
            process.terminate()
        for _, process in reversed(self._processes):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=5)
        self._folder.cleanup()

    def logs(self) -> str:
        return "".join(f"--- {name}\n{(self.path / f'{name}.log').read_text(errors='replace')[-4000:]}"
                       for name, _ in self._processes)

    def _start(self, name: str, *command: str) -> subprocess.Popen:
        with (self.path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([str(PROGRAMS / command[0]), *command[1:]], stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, cwd=self.path)
        self._processes.append((name, process))
        return process

    def start_coordinator(self, listen: str = "127.0.0.1:0", flags: tuple[str, ...] = ()) -> subprocess.Popen:
        file = self.path / "addresses.json"
        file.unlink(missing_ok=True)
        process = self._start("dtcoord", "dtcoord", "--listen", listen, "--http", "127.0.0.1:0", "--state-dir",
                              str(self.path / "state"), "--addresses-file", str(file), *flags)

        def read():
            if process.poll() is not None:
                raise AssertionError(f"dtcoord ended with {process.returncode}:\n{self.logs()}")
            return json.loads(file.read_text()) if file.exists() else None

        addresses = until("the coordinator's addresses", read)
        self.address, self.http = addresses["grpc"], addresses["http"]
        return process

    def start_worker(self, name: str, slot: int) -> None:
        self._start(f"worker{slot}", "dtworker", "--coordinator", self.address, "--slot", f"cpu:{slot}", "--name", name,
                    "--threads", "1", "--data-root", str(self.path / "data"), "--storage", str(self.path / "storage"))

    def dtctl(self, *arguments: str) -> str:
        variables = {**os.environ, "XDG_CONFIG_HOME": str(self.path / "config")}
        done = subprocess.run([str(PROGRAMS / "dtctl"), *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              env=variables, timeout=PATIENCE_SECONDS, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"dtctl {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def make_corpus(self) -> None:
        """Generates text, the same each time."""
        words = "the ranks of a gang average their gradients and a journal keeps every fact of it".split()
        texts = self.path / "texts"
        texts.mkdir()
        for i in range(8):
            lines = (" ".join(words[(i + j + k * j) % len(words)] for k in range(12)) for j in range(100))
            (texts / f"{i}.txt").write_text("\n".join(lines))
        self.dtctl("data", "tokenize", "--tokenizer", "byte", "--output", str(self.path / "data/text"), str(texts))

    def client(self, **arguments) -> dtrain.Client:
        return dtrain.Client(self.address, **arguments)


class ClusterTest(unittest.TestCase):
    """Tests that share a coordinator without workers."""

    cluster: Cluster
    client: dtrain.Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start_coordinator()
        cls.client = cls.cluster.client()
        cls.addClassCleanup(cls.client.close)


EXPERIMENT = {
    "version": 1,
    "name": "small",
    "seed": 1,
    "labels": {"team": "tests"},
    "parameters": {"optimizer.lr": [1e-3, 1e-2]},
    "resources": {"gpus": 1, "device": "cpu"},
    "data": {"train": "text/train_*.bin", "val": "text/val_*.bin", "tokenizer": "byte"},
    "model": {"preset": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_ff": 32, "n_positions": 16},
    "train": {"batch_size": 2, "seq_len": 16, "max_steps": 12},
    "eval": {"every": 5, "batches": 1},
    "checkpoint": {"every": 6},
}


def report_logs(cluster: Cluster, failed: bool) -> None:
    if failed:
        print(cluster.logs(), file=sys.stderr)
