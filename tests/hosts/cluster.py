"""A coordinator, workers and gangs over the hosts of a lab, under TLS, used from the desk through dtctl.

Each wait has a deadline. Everything ends with the lab.
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import TooLate, until  # noqa: E402

from lab import Lab, Process  # noqa: E402

# A machine that runs tests may have ten times as much to do as it has cores.
PATIENCE_SECONDS = 240.0
COORDINATOR = "coordinator.example"
LOG_TAIL_CHARACTERS = 4000
ENDED = ("finished", "failed", "cancelled")

FILE = """version: 1
name: {name}
seed: 7
resources: {{gpus: {ranks}, device: cpu}}
data: {{train: "text/train_*.bin", val: "text/val_*.bin", tokenizer: byte, shuffle: true}}
model: {{preset: gpt2, n_layer: 2, n_head: 2, n_embd: 48, n_ff: 96, n_positions: 64}}
train: {{batch_size: {batch}, seq_len: 64, max_steps: {steps}}}
optimizer: {{lr: 3.0e-3}}
schedule: {{warmup_steps: 5}}
precision: {{compute: fp32}}
eval: {{every: 50, batches: 2}}
checkpoint: {checkpoint}
retries: {{max: 1000, backoff: 0s}}
"""


def make_text(bytes_least: int = 100_000, seed: int = 1) -> str:
    """Returns text that can be learned, the same each time: each word depends on the word before."""
    words = ["one ", "worker ", "trains ", "while ", "another ", "waits ", "for ", "its ", "gradients.\n"]
    parts, length, state, word = [], 0, seed, 0
    while length < bytes_least:
        state = (state * 1664525 + 1013904223) % 2**32
        word = (2 * word + 1 + (state >> 30)) % 9
        parts.append(words[word])
        length += len(words[word])
    return "".join(parts)


class Cluster:
    def __init__(self, lab: Lab, programs: pathlib.Path, coordinator: str):
        self.lab = lab
        self.path = lab.folder
        self.programs = programs
        self.coordinator_host = coordinator
        self.coordinator: Process | None = None
        self.workers: dict[str, Process] = {}  # by host
        self._port = 0
        self._starts = 0
        # Settings of whoever runs the test have no effect.
        self.variables = {key: value for key, value in os.environ.items()
                          if not key.startswith(("DTCTL_", "DTRAIN_", "XDG_"))}
        for key, folder in (("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "own-state"),
                            ("XDG_CACHE_HOME", "cache"), ("HOME", "home")):
            self.variables[key] = str(self.path / folder)
        for folder in ("config", "own-state", "cache", "home", "data", "storage", "state"):
            (self.path / folder).mkdir()

    # ---- programs ----
    def start_coordinator(self, host: str = "") -> None:
        """Starts it, or starts it again with the same journal, on another host if one is named, under the same name."""
        self.coordinator_host = host or self.coordinator_host
        if not (self.path / "tls").exists():
            self._make_certificates()
        self.lab.give_name(COORDINATOR, self.coordinator_host)
        addresses = self.path / "addresses.json"
        addresses.unlink(missing_ok=True)
        self._starts += 1
        self.coordinator = self.lab[self.coordinator_host].start(
            f"dtcoord-{self._starts}", [str(self.programs / "dtcoord"), "--listen", f"0.0.0.0:{self._port}",
                                        "--http", "127.0.0.1:0", "--state-dir", str(self.path / "state"),
                                        "--addresses-file", str(addresses), *self._tls("coordinator")], self.variables)

        def port():
            if self.coordinator.ended() is not None:
                raise AssertionError(f"dtcoord ended with {self.coordinator.ended()}\n{self.logs()}")
            return addresses.exists() and json.loads(addresses.read_text())["grpc"].rpartition(":")[2]
        self._port = int(until("the coordinator's port", port, PATIENCE_SECONDS))

    def start_worker(self, host: str, slots: int = 1, more: tuple[str, ...] = ()) -> Process:
        """Starts the worker HOST/cpu, or starts it again."""
        run = self.path / f"run-{host}"
        run.mkdir(mode=0o700, exist_ok=True)
        self.workers[host] = self.lab[host].start(
            f"dtworker-{host}", [str(self.programs / "dtworker"), "--coordinator", f"{COORDINATOR}:{self._port}",
                                 "--slot", "cpu", "--slots", str(slots), "--threads", "1",
                                 "--data-address", self.lab[host].address,
                                 "--data-root", str(self.path / "data"), "--storage", str(self.path / "storage"),
                                 "--run-dir", str(run), *self._tls(host), *more], self.variables)
        return self.workers[host]

    def await_workers(self, count: int) -> None:
        """Waits until so many workers are idle or busy."""
        until(f"{count} workers", lambda: count == sum(worker["state"] in ("idle", "busy") for worker in
                                                       self.items("get", "workers")), PATIENCE_SECONDS)

    def state_of(self, worker: str) -> str:
        return next((each["state"] for each in self.items("get", "workers") if each["id"] == worker), "unknown")

    def _make_certificates(self) -> None:
        folder = str(self.path / "tls")
        self.dtctl("ca", "init", "--dir", folder)
        self.dtctl("ca", "issue", "coordinator", "--role", "coordinator", "--host", COORDINATOR, "--dir", folder)
        for host in self.lab.names():
            self.dtctl("ca", "issue", host, "--role", "admin" if host == "desk" else "worker", "--dir", folder)

    def _tls(self, name: str) -> list[str]:
        folder = self.path / "tls"
        return ["--tls-ca", str(folder / "ca.crt"), "--tls-cert", str(folder / f"{name}.crt"),
                "--tls-key", str(folder / f"{name}.key")]

    # ---- calls from the desk ----
    def dtctl(self, *words: str, seconds: float = PATIENCE_SECONDS) -> str:
        variables = dict(self.variables)
        if self._port:
            tls = self.path / "tls"
            variables |= {"DTCTL_ADDRESS": f"{COORDINATOR}:{self._port}", "DTCTL_TLS_CA": str(tls / "ca.crt"),
                          "DTCTL_TLS_CERT": str(tls / "desk.crt"), "DTCTL_TLS_KEY": str(tls / "desk.key")}
        done = subprocess.run([str(self.programs / "dtctl"), *words], cwd=self.path, env=variables, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
        if done.returncode != 0:
            raise AssertionError(f"dtctl {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def items(self, *words: str) -> list[dict]:
        return json.loads(self.dtctl(*words, "-o", "json"))["items"]

    def make_data(self) -> None:
        text = self.path / "text.txt"
        text.write_text(make_text(), encoding="utf-8")
        self.dtctl("data", "tokenize", "--tokenizer", "byte", "--output", str(self.path / "data/text"), str(text))

    def submit(self, text: str, name: str) -> str:
        """Returns the trial: "3/1" of experiment 3."""
        file = self.path / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        return self.dtctl("submit", str(file), "--id-only").split()[0] + "/1"

    def trial(self, trial: str) -> dict:
        return json.loads(self.dtctl("explain", trial, "-o", "json"))

    def await_attempt(self, trial: str, number: int) -> dict:
        """Waits until this attempt or a later one trains, or the trial has ended."""
        def ready():
            now = self.trial(trial)
            return now if now["state"] in ENDED or now["attempts"] >= number and now["state"] == "running" else None
        return self.until_trial(f"attempt {number} of trial {trial}", trial, ready)

    def await_end(self, trial: str) -> dict:
        def ended():
            now = self.trial(trial)
            return now if now["state"] in ENDED else None
        return self.until_trial(f"the end of trial {trial}", trial, ended)

    def until_trial(self, what: str, trial: str, probe, seconds: float = PATIENCE_SECONDS) -> dict:
        """Waits as `until`. If it is too late, the error has the trial's explanation and the logs."""
        try:
            return until(what, probe, seconds)
        except TooLate as late:
            raise TooLate(f"{late}; {self.dtctl('explain', trial)}\n{self.logs()}") from None

    def await_checkpoint(self, trial: str) -> None:
        experiment, _ = trial.split("/")
        until(f"a checkpoint of trial {trial}", lambda: self.items("get", "checkpoints", experiment), PATIENCE_SECONDS)

    def host_of_rank(self, trial: str, rank: int) -> str:
        members = self.trial(trial)["attempt_list"][-1]["members"]
        return next(member["worker"] for member in members if member["rank"] == rank).split("/")[0]

    def rows(self, trial: str, *more: str) -> list[dict[str, str]]:
        text = self.dtctl("metrics", trial, "--without-parameters", "-o", "csv", *more)
        return list(csv.DictReader(io.StringIO(text)))

    def losses(self, trial: str) -> list[tuple[str, str, str]]:
        """Returns step, loss and val_loss of each valid row, with all digits."""
        return [(row["step"], row["loss"], row["val_loss"]) for row in self.rows(trial)]

    def logs(self) -> str:
        """Returns the end of each program's log."""
        return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-LOG_TAIL_CHARACTERS:]}"
                       for log in sorted(self.path.glob("*.log")))
