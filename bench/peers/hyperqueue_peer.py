"""HyperQueue, from its package: `LocalCluster` has server and workers as threads of one process."""

import argparse
import importlib.metadata
import os
import pathlib
import sys

import measures
from measures import Used

try:
    import hyperqueue
    from hyperqueue.cluster import LocalCluster, WorkerConfig
except ImportError as error:
    print(error)
    sys.exit(measures.NOT_INSTALLED)


def threads() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/task")}


def seconds(of: set[int]) -> float:
    """Returns the seconds of threads of this process that have not ended."""
    total = 0.0
    for thread in of:
        try:
            total += int(pathlib.Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0]) * 1e-9
        except OSError:
            continue
    return total


class HyperQueue(measures.System):
    version = f"HyperQueue {importlib.metadata.version('hyperqueue')}"

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        super().__init__(options, folder)
        files = options.variant == "files"
        self.output = {} if files else {"stdout": None, "stderr": None}
        self.how = (f"LocalCluster(), start_worker(WorkerConfig(cores=1)) × {options.slots}, no journal, "
                    + ("stdout and stderr of each task in files, its default" if files
                       else "stdout=None, stderr=None: no file for a task's output"))

    def start(self) -> None:
        self.memory_before = measures.mebibytes_of(os.getpid())
        before = threads()
        self.cluster = LocalCluster(str(self.folder / "server"))
        self.server_threads = threads() - before
        before = threads()
        for _ in range(self.options.slots):
            self.cluster.start_worker(WorkerConfig(cores=1))
        self.worker_threads = threads() - before
        self.client = self.cluster.client()

    def submit(self, words: list[str], count: int, importance: int) -> object:
        job = hyperqueue.Job()
        for _ in range(count):
            job.program(words, priority=importance, **self.output)
        return self.client.submit(job)

    def wait(self, submitted: object) -> None:
        self.client.wait_for_jobs([submitted])

    def used(self) -> Used:
        return Used(seconds(self.server_threads), seconds(self.worker_threads) + measures.seconds_of(os.getpid())[1])

    def memory(self) -> dict[str, float]:
        return {"server_and_workers": measures.mebibytes_of(os.getpid()) - self.memory_before}

    def stop(self) -> None:
        self.client = None
        self.cluster.stop()


if __name__ == "__main__":
    measures.main(HyperQueue, measures.take_options(["plain", "files"]))
