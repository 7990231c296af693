"""Hits a gang that trains over several hosts, and measures how it recovers: for gang_test.py and bench/recovery.

Times are those of rows and attempts, on the machine's one clock: nothing depends on how often this program looks.
"""

import dataclasses
import datetime
import os
import pathlib
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import TooLate, until  # noqa: E402

from cluster import ENDED, FILE, Cluster  # noqa: E402
from lab import Lab  # noqa: E402

COORDINATOR_HOST, OTHER_HOST = "alpha", "omega"
WORKER_HOSTS = ("beta", "gamma", "delta")  # two for the gang, and a spare
HOSTS = [COORDINATOR_HOST, *WORKER_HOSTS, OTHER_HOST]
RANKS = 2
PROGRAM = pathlib.Path(__file__).resolve().parent / "gang_program.py"
# Steps that a hit gang must have made, so that it has checkpoints and its pace is known.
STEPS_BEFORE = 60
SLOW_STEPS = 10
ENDLESS = 1_000_000
SECONDS_OF_A_HIT = 300.0
SECONDS_TO_FIND = 60.0  # for workers to find a coordinator that was moved

# Lines that are added to the file, by strategy.
STRATEGIES = {
    "ddp": "",
    "zero3": "parallel: {strategy: zero3}\n",
    "tensor": "parallel: {tensor: 2}\n",
    "local_sgd": "parallel: {strategy: local_sgd, sync_every: 10}\n",
    "program": "",  # a file of its own
}
PROGRAM_FILE = """version: 1
name: program
command: [{python}, -B, {program}, "{steps}", "{every}"]
resources: {{gpus: {ranks}, device: cpu}}
retries: {{max: 1000, backoff: 0s}}
"""
PROGRAM_CHECKPOINT_EVERY = 50


@dataclasses.dataclass
class Row:
    attempt: int
    step: int
    seconds: float  # since 1970


@dataclasses.dataclass
class Outcome:
    """`detected` and `lost_steps` are None if no attempt ended."""
    next_step: float  # seconds from the hit until a step is committed again
    detected: float | None = None  # seconds from the hit to the end of its attempt
    lost_steps: int | None = None
    cause: str = ""


def outcome(rows: list[Row], attempts: list[dict], hit_at: float, attempt: int) -> Outcome | None:
    """Returns what a hit of this attempt cost. None: nothing has been committed since."""
    after = [row for row in rows if row.attempt > attempt]
    if not after:
        times = [row.seconds for row in rows if row.attempt == attempt]
        gaps = [(later - max(earlier, hit_at), later) for earlier, later in zip(times, times[1:]) if later > hit_at]
        return Outcome(next_step=max(gaps)[0]) if gaps else None
    first = min(after, key=lambda row: row.seconds)
    last = max((row.step for row in rows if row.attempt == attempt), default=0)
    hit = next(each for each in attempts if each["attempt"] == attempt)
    return Outcome(next_step=first.seconds - hit_at, detected=seconds_of(hit["ended_at"]) - hit_at,
                   lost_steps=max(last - (first.step - 1), 0), cause=hit["cause"] or "")


def useful_share(rows: list[tuple[float, float]], wall_seconds: float) -> float:
    """Returns the share of the time that steps took which count. `rows`: the seconds and the number of steps of each.

    A step counts for at most SLOW_STEPS median ones, since one that waited for a dead peer trained no longer.
    """
    if not rows:
        return 0.0
    paces = [seconds / steps for seconds, steps in rows]
    most = SLOW_STEPS * statistics.median(paces)
    return sum(steps * min(pace, most) for pace, (_, steps) in zip(paces, rows)) / wall_seconds


def seconds_of(text: str) -> float:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Gang:
    """A trial of two ranks on two hosts, a spare host, and what is done to them. `hit_NAME` returns what undoes it."""

    def __init__(self, lab: Lab, programs: pathlib.Path):
        self.lab = lab
        self.cluster = Cluster(lab, programs, COORDINATOR_HOST)
        self.trial = ""
        self.cluster.start_coordinator()
        self.cluster.make_data()
        for host in WORKER_HOSTS:
            self.start_worker(host)
        self.cluster.await_workers(len(WORKER_HOSTS))

    def start_worker(self, host: str) -> None:
        self.cluster.start_worker(host, more=("--programs", "allow"))

    def submit(self, strategy: str, steps: int = ENDLESS, checkpoint: str = "{every: 50}") -> str:
        if strategy == "program":
            text = PROGRAM_FILE.format(python=sys.executable, program=PROGRAM, steps=steps, ranks=RANKS,
                                       every=PROGRAM_CHECKPOINT_EVERY if checkpoint else 0)
        else:
            text = FILE.format(name=strategy, ranks=RANKS, batch=4, steps=steps,
                               checkpoint=checkpoint) + STRATEGIES[strategy]
        if not checkpoint:
            text = text.replace("checkpoint: \n", "")
        self.trial = self.cluster.submit(text, strategy)
        return self.trial

    def rows(self) -> list[Row]:
        return [Row(int(row["attempt"]), int(row["step"]), float(row["wall_time_ms"]) / 1e3)
                for row in self.cluster.rows(self.trial, "--all-attempts")]

    def await_steps(self, more: int) -> dict:
        """Waits until the trial trains and has made so many steps more."""
        first = self.cluster.await_attempt(self.trial, 1)

        def made():
            now = self.cluster.trial(self.trial)
            return now if now["state"] in ENDED or now["step"] >= first["step"] + more else None
        return self.cluster.until_trial(f"{more} steps of trial {self.trial}", self.trial, made)

    def hit(self, name: str, seconds: float = SECONDS_OF_A_HIT) -> Outcome | None:
        """Hits the gang, waits until it trains again, repairs what was hit. None: nothing was committed by then."""
        if name == MOVED:
            return self.move_coordinator()
        before = self.await_steps(STEPS_BEFORE)
        attempt, hit_at = before["attempts"], time.time()
        repair = HITS[name](self)

        def recovered():
            found = outcome(self.rows(), self.cluster.trial(self.trial)["attempt_list"], hit_at, attempt)
            return found if found and found.detected is not None else None
        try:
            return until(f"a step after the hit of {name}", recovered, seconds)
        except TooLate:
            return None
        finally:
            repair()
            self.cluster.await_workers(len(WORKER_HOSTS))

    def move_coordinator(self) -> Outcome:
        """Kills the coordinator and starts it on another host, under the same name; then moves it back.

        `detected`: until a worker is there; None: not within SECONDS_TO_FIND.
        """
        before = self.await_steps(STEPS_BEFORE)
        hit_at, found_after = time.time(), None
        self.cluster.coordinator.kill()
        self.cluster.start_coordinator(OTHER_HOST)
        try:
            until("workers at the moved coordinator", self._is_found, SECONDS_TO_FIND)
            found_after = time.time() - hit_at
        except TooLate:
            pass
        self.cluster.coordinator.kill()
        self.cluster.start_coordinator(COORDINATOR_HOST)
        self.cluster.await_workers(len(WORKER_HOSTS))
        # Rows of the time without a coordinator arrive late, in their order.
        back_at = time.time()
        rows = until("rows since", lambda: [rows for rows in [self.rows()] if rows[-1].seconds > back_at],
                     SECONDS_OF_A_HIT)[0]
        found = outcome(rows, self.cluster.trial(self.trial)["attempt_list"], hit_at, before["attempts"])
        found.detected = found_after
        return found

    def useful_share(self, strategy: str, name: str, period_seconds: float, kills: int, checkpoint: str) -> float:
        """Trains for so many periods with a kill in each; returns the share of the time in useful steps."""
        self.submit(strategy, checkpoint=checkpoint)
        self.await_steps(STEPS_BEFORE)
        began_at, began = time.time(), time.monotonic()
        clock = threading.Event()
        for kill in range(kills):
            clock.wait(began + (kill + 0.5) * period_seconds - time.monotonic())
            HITS[name](self)()
        clock.wait(began + kills * period_seconds - time.monotonic())
        ended_at = time.time()
        rows = [(float(row["seconds"]), float(row["steps"] or 1)) for row in self.cluster.rows(self.trial)
                if row["seconds"] and began_at <= float(row["wall_time_ms"]) / 1e3 <= ended_at]
        self.cancel()
        self.cluster.await_workers(len(WORKER_HOSTS))
        return useful_share(rows, ended_at - began_at)

    def cancel(self) -> None:
        self.cluster.dtctl("cancel", self.trial.split("/")[0])
        self.cluster.await_end(self.trial)

    def committed_steps(self) -> list[int]:
        return [int(step) for step, _, _ in self.cluster.losses(self.trial)]

    def host_of(self, rank: int) -> str:
        return self.cluster.host_of_rank(self.trial, rank)

    # ---- hits ----
    def hit_trainer(self) -> Callable[[], None]:
        host = self.lab[self.host_of(1)]
        # A program runs beside a warm trainer that does nothing.
        for pid in host.processes(pathlib.Path(sys.executable).name) or host.processes("dttrain"):
            os.kill(pid, signal.SIGKILL)
        return lambda: None

    def hit_worker(self) -> Callable[[], None]:
        host = self.host_of(1)
        self.cluster.workers[host].kill()
        return lambda: self.start_worker(host)

    def hit_host(self) -> Callable[[], None]:
        host = self.host_of(1)
        self.lab[host].power_off()

        def repair():
            self.lab[host].power_on()
            self.start_worker(host)
        return repair

    def hit_cut(self) -> Callable[[], None]:
        self.lab.cut(self.host_of(1))
        return self.lab.heal

    def hit_pair(self) -> Callable[[], None]:
        self.lab.cut(self.host_of(0), self.host_of(1))
        return self.lab.heal

    def _is_found(self) -> bool:
        return any(worker["state"] in ("idle", "busy") for worker in self.cluster.items("get", "workers"))


MOVED = "coordinator"
HITS: dict[str, Callable[[Gang], Callable[[], None]]] = {
    "trainer": Gang.hit_trainer, "worker": Gang.hit_worker, "host": Gang.hit_host, "cut": Gang.hit_cut,
    "pair": Gang.hit_pair,
}
KILLS = ("trainer", "worker")  # hits that need no repair of the network, for the useful share
WORDS = {
    "trainer": "trainer killed", "worker": "worker killed, its host stays", "host": "host without power",
    "cut": "host cut from all", "pair": "the two hosts cut from each other",
    MOVED: "coordinator killed and started on another host",
}
