"""The measures that every system of this benchmark has in common, and what a system's file needs for them.

A system's file (dtrain_peer.py and others) has a class like `System`, and ends with `main(...)`. Run by itself it makes
one measure of one variant and prints the figures as one line of JSON; peers_bench.py runs these in turns. Exit code 77:
a package is not installed; the output says which.
"""

import abc
import argparse
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from figures import percentile  # noqa: E402

NOT_INSTALLED = 77
NOTHING = ["/bin/true"]
REPORTS = 10  # of a trial
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
DEADLINE_SECONDS = 900
PAUSE_SECONDS = 0.02  # in which a lone task ends before the next one is submitted
# Importance of work: a batch is measured beside what waits, its end is seen by the task that follows it.
WAITS, FOLLOWS, BATCH, ALONE = range(4)


class Used(NamedTuple):
    """Seconds of a processor: of the server, and of the workers with the programs that they ran."""

    server: float
    workers: float


class System(abc.ABC):
    """A pool of one-core workers on this machine."""

    version = ""
    how = ""  # how it is run, and what of it is durable

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options = options
        self.folder = folder  # for its files; removed at the end
        self.bell = Bell(folder / "bell")

    @abc.abstractmethod
    def start(self) -> None:
        """Starts the server and the workers, and returns when they take work."""

    @abc.abstractmethod
    def submit(self, words: list[str], count: int, importance: int) -> object:
        """Submits so many tasks that run these words."""

    @abc.abstractmethod
    def wait(self, submitted: object) -> None:
        """Waits until all of it has ended, and raises an error if a task failed."""

    @abc.abstractmethod
    def used(self) -> Used:
        """Returns what it has used since it started."""

    @abc.abstractmethod
    def memory(self) -> dict[str, float]:
        """Returns the MiB of its server and of its workers (proportional set size)."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Ends every process that start() started."""

    def let_wait(self, count: int) -> None:
        """Submits tasks that wait until the next run() has ended."""
        self.submit(NOTHING, count, WAITS)

    def report_trials(self, count: int) -> None:
        """Runs trials that report REPORTS values each, and returns when all have ended."""
        raise NotImplementedError

    def run(self, words: list[str], count: int) -> None:
        """Submits tasks and returns when the task that follows the last of them has begun.

        Systems tell a waiting client of the end only at their next look, which is up to a second late.
        """
        submitted = self.submit(words, count, BATCH)
        self.submit(self.bell.words, 1, FOLLOWS)
        self.bell.wait()
        self.wait(submitted)


class Bell:
    """A FIFO by which a program says that it has begun."""

    def __init__(self, path: pathlib.Path):
        os.mkfifo(path)
        # Open for writing too, so that it does not end between two programs.
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.words = ["/bin/sh", "-c", f"echo >'{path}'"]

    def rang(self) -> bool:
        return bool(select.select([self._fd], [], [], 0)[0])

    def wait(self) -> float:
        """Returns the time at which the next program began."""
        timer = threading.Timer(DEADLINE_SECONDS, os._exit, [1])
        timer.daemon = True
        timer.start()
        os.read(self._fd, 1)
        began = time.monotonic()
        timer.cancel()
        return began


def programs(system: System, options: argparse.Namespace) -> dict[str, float]:
    """Measures the rate of tasks that do nothing, and what one costs."""
    system.run(NOTHING, 4 * options.slots)
    if options.waiting > 0:
        system.let_wait(options.waiting)
    before, began = system.used(), time.monotonic()
    system.run(NOTHING, options.count)
    seconds, after = time.monotonic() - began, system.used()
    each = 1e6 / options.count
    return {"rate": options.count / seconds, "server_us": (after.server - before.server) * each,
            "workers_us": (after.workers - before.workers) * each,
            **{f"{role}_mib": mib for role, mib in system.memory().items()}}


def latency(system: System, options: argparse.Namespace) -> dict[str, float]:
    """Measures the time from a lone task's submission to the start of its program, idle and beside a long queue."""
    system.run(NOTHING, 4 * options.slots)

    def sample() -> float:
        threading.Event().wait(PAUSE_SECONDS)
        began = time.monotonic()
        system.submit(system.bell.words, 1, ALONE)
        return (system.bell.wait() - began) * 1e3

    idle = [sample() for _ in range(options.samples)]
    end = Bell(system.folder / "end")
    queue = system.submit(NOTHING, options.count, BATCH)
    system.submit(end.words, 1, FOLLOWS)
    busy: list[float] = []
    while len(busy) < options.samples and not end.rang():
        busy.append(sample())
    end.wait()
    system.wait(queue)
    figures = {"idle_p50": percentile(idle, 0.5), "idle_p99": percentile(idle, 0.99), "busy_samples": len(busy)}
    if busy:
        figures |= {"busy_p50": percentile(busy, 0.5), "busy_p99": percentile(busy, 0.99)}
    return figures


def reports(system: System, options: argparse.Namespace) -> dict[str, float]:
    """Measures the rate of trials that report."""
    system.report_trials(options.slots)
    began = time.monotonic()
    system.report_trials(options.count)
    return {"rate": options.count / (time.monotonic() - began)}


def seconds_of(pid: int) -> tuple[float, float]:
    """Returns the seconds of a process and of its children that have ended and were reaped."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0, 0.0  # it has ended
    fields = text[text.rindex(")") + 2:].split()
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / TICKS_PER_SECOND, children / TICKS_PER_SECOND


def mebibytes_of(pid: int) -> float:
    """Returns the proportional set size of a process."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def descendants(pid: int) -> list[int]:
    """Returns the processes below a process, parents first."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def words_of(pid: int) -> str:
    """Returns a process's command line."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def take_options(variants: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("measure", choices=["programs", "latency", "reports"])
    parser.add_argument("--variant", choices=variants, default=variants[0])
    parser.add_argument("--count", type=int, default=1000, help="tasks, or trials")
    parser.add_argument("--waiting", type=int, default=0, help="further tasks that wait behind them")
    parser.add_argument("--samples", type=int, default=100, help="lone tasks")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--programs", type=pathlib.Path, help="the folder of dtcoord and the others")
    return parser.parse_args()


def main(make: Callable[[argparse.Namespace, pathlib.Path], System], options: argparse.Namespace) -> None:
    """Makes the measure and prints its figures."""
    measure = {"programs": programs, "latency": latency, "reports": reports}[options.measure]
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as name:
        os.chdir(name)
        system = make(options, pathlib.Path(name))
        try:
            system.start()
            figures = measure(system, options)
        finally:
            system.stop()
    print(json.dumps({"version": system.version, "how": system.how, "figures": figures}), flush=True)


def version_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[1]
