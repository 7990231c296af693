"""Runs PyTorch in Python for the benchmark: a variant's processes, one for each rank, kept between rounds."""

import json
import pathlib
import statistics
import subprocess

import ours


PROGRAM = pathlib.Path(__file__).with_name("peer.py")


class Failed(Exception):
    """The variant failed: out of memory, or its compiler failed. The process can take further requests."""


class Peer:
    def __init__(self, python: str, environment: dict, case_file: str, ranks: int, variant: str, log,
                 program: pathlib.Path = PROGRAM):
        """Returns once the variant has trained a few steps, so that it is compiled; `failed` has the reason if it has
        not."""
        self.processes = [
            subprocess.Popen([python, str(program), case_file, str(rank), variant], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
            for rank in range(ranks)
        ]
        said = [self._answer(process) for process in self.processes]
        self.failed = next((each["failed"] for each in said if "failed" in each), "")
        # From the process's start to the first step's loss.
        self.ready_seconds = max(each.get("ready", 0.0) for each in said)

    @staticmethod
    def _answer(process: subprocess.Popen) -> dict:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the PyTorch process ended by itself")
        return json.loads(line)

    def _ask(self, question: dict) -> list[dict]:
        for process in self.processes:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
        told = [self._answer(process) for process in self.processes]
        for each in told:
            if "failed" in each:
                raise Failed(each["failed"])
        return told

    def run(self, steps: int) -> dict:
        told = self._ask({"steps": steps})
        return {"seconds": told[0]["seconds"],
                "processor": [sum(spent) for spent in zip(*(t["processor"] for t in told))],
                "losses": [statistics.fmean(losses) for losses in zip(*(t["losses"] for t in told))],
                "memory": max(t["memory"] for t in told), "ranks": told}

    def attention_kernels(self) -> list[str]:
        return self._ask({"kernels": True})[0]["kernels"]

    def close(self) -> None:
        for process in self.processes:
            process.stdin.close()
            process.wait(timeout=ours.PATIENCE_SECONDS)
