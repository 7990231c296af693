"""dtrain: dtcoord and a dtworker for each slot, as `dtctl up` starts them; work is submitted by the Python client."""

import argparse
import os
import pathlib
import sys
import warnings

import measures
from measures import Used

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "deploy"))
from live_run import LiveRun  # noqa: E402
from until import until  # noqa: E402  its folder is in the path of live_run

try:
    import dtrain
except ImportError as error:
    print(error)
    sys.exit(measures.NOT_INSTALLED)

SCRIPT = f"""import dtrain
for step in range(1, {measures.REPORTS + 1}):
    dtrain.report(step, val_loss=dtrain.parameters()["number"] / step)
"""


def objective(trial) -> float:
    x = trial.params["x"]
    for step in range(1, measures.REPORTS + 1):
        trial.report(x / step, step)
        if trial.should_prune():
            raise dtrain.TrialPruned
    return x / measures.REPORTS


class Dtrain(measures.System):
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        super().__init__(options, folder)
        trials = {"plain": f"a dtworker a slot, {options.slots} slots, a process each",
                  "study": "Client.study(method='random').optimize in one process, no process a trial"}[options.variant]
        self.how = f"dtcoord, {trials}; every record committed with fsync before it is acknowledged"
        self.version = f"dtrain {measures.version_of(str(options.programs / 'dtcoord'), '--version')}"
        self.batches = 0
        warnings.simplefilter("ignore")  # of the parameter that no word of the command names
        os.environ.pop("PYTHONPATH", None)  # the client is imported; programs get their own `dtrain`
        # The slots' folder is apart, so that no other worker of this machine shares them.
        os.environ["XDG_RUNTIME_DIR"] = str(folder)

    def start(self) -> None:
        self.live = LiveRun(self.options.programs)
        self.live.start_coordinator()
        self.live.start_workers(self.options.slots)
        self.client = dtrain.Client(self.live.addresses["grpc"])
        until("connected workers", lambda: len(self.client.workers()) == self.options.slots, 30)

    def submit(self, words: list[str], count: int, importance: int) -> object:
        return self.submit_file({"command": [word.replace("{", "{{") for word in words]}, count, importance)

    def submit_file(self, fields: dict, count: int, importance: int) -> object:
        self.batches += 1
        return self.client.submit({
            "version": 1, "name": f"batch-{self.batches}", **fields,
            "parameters": {"number": {"min": 1, "max": 1_000_000}}, "search": {"method": "random", "max_trials": count},
            "resources": {"device": "cpu", "priority": importance}})

    def report_trials(self, count: int) -> None:
        if self.options.variant == "study":
            self.batches += 1
            study = self.client.study({"x": {"min": 0.0, "max": 1.0}}, method="random", n_trials=count,
                                      name=f"study-{self.batches}", metric="val_loss")
            study.optimize(objective)
            if len(study.trials) != count:
                raise RuntimeError(f"{len(study.trials)} of {count} trials are kept")
            return
        script = self.folder / "trial.py"
        script.write_text(SCRIPT)
        fields = {"command": ["python3", str(script)]}
        submitted = self.submit_file(fields, count, measures.BATCH)
        self.submit(self.bell.words, 1, measures.FOLLOWS)
        self.bell.wait()
        self.wait(submitted)

    def wait(self, submitted: object) -> None:
        ended = self.client.wait(submitted, timeout=measures.DEADLINE_SECONDS, progress=False)
        if not ended.succeeded:
            raise RuntimeError(self.client.trials(submitted, states=["failed"])[0].message)

    def processes(self) -> tuple[list[int], list[int]]:
        """Returns the coordinator, and the workers with all that is below them."""
        coordinator = [process.pid for name, process in self.live.processes if name == "dtcoord"]
        workers = [process.pid for name, process in self.live.processes if name != "dtcoord"]
        return coordinator, workers + [pid for worker in workers for pid in measures.descendants(worker)]

    def used(self) -> Used:
        coordinator, workers = self.processes()
        return Used(sum(measures.seconds_of(pid)[0] for pid in coordinator),
                    sum(sum(measures.seconds_of(pid)) for pid in workers))

    def memory(self) -> dict[str, float]:
        coordinator, workers = self.processes()
        return {"server": sum(map(measures.mebibytes_of, coordinator)),
                "workers": sum(map(measures.mebibytes_of, workers))}

    def stop(self) -> None:
        self.live.__exit__(sys.exc_info()[1])


if __name__ == "__main__":
    measures.main(Dtrain, measures.take_options(["plain", "study"]))
