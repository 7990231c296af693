"""Ray: tasks in warm Python processes, and trials of Ray Tune."""

import argparse
import os
import pathlib
import subprocess
import sys

import measures
from measures import Used

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AIR_NEW_OUTPUT": "0", "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "0"}
try:
    import ray
except ImportError as error:
    print(error)
    sys.exit(measures.NOT_INSTALLED)


def call() -> None:
    """Does nothing, in a process that Ray keeps."""


def run(words: list[str]) -> None:
    subprocess.run(words, check=True)


def trial(config: dict[str, float]) -> None:
    from ray import tune
    for step in range(1, measures.REPORTS + 1):
        tune.report({"val_loss": config["x"] / step})


class Ray(measures.System):
    version = f"Ray {ray.__version__}"

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        super().__init__(options, folder)
        self.behind = 0
        tasks = {"plain": "a @ray.remote(num_cpus=1) function that starts the program; nothing durable",
                 "functions": "a @ray.remote(num_cpus=1) function, no process of its own; nothing durable",
                 "tune": "Tuner(function) with one CPU a trial and Tune's defaults"}[options.variant]
        self.how = f"ray.init(num_cpus={options.slots}), {tasks}"

    def start(self) -> None:
        os.environ["HOME"] = str(self.folder)
        ray.init(num_cpus=self.options.slots, include_dashboard=False, log_to_driver=False, _temp_dir=str(self.folder))
        if self.options.variant != "tune":
            self.task = ray.remote(num_cpus=1)(call if self.options.variant == "functions" else run)

    def submit(self, words: list[str], count: int, importance: int) -> object:
        if self.options.variant == "functions":
            return [self.task.remote() for _ in range(count)]
        return [self.task.remote(words) for _ in range(count)]

    def wait(self, submitted: object) -> None:
        ray.get(submitted)

    def let_wait(self, count: int) -> None:
        self.behind = count  # tasks have no priorities and begin in their order

    def run(self, words: list[str], count: int) -> None:
        submitted = self.submit(words, count, measures.BATCH)
        waiting = self.submit(words, self.behind, measures.WAITS)
        self.wait(submitted)
        for task in waiting:
            ray.cancel(task)

    def split(self) -> tuple[list[int], list[int]]:
        """Returns Ray's own processes, and its processes for tasks."""
        own, tasks = [], []
        for pid in measures.descendants(os.getpid()):
            words = measures.words_of(pid)
            (tasks if words.startswith("ray::") and "Agent" not in words else own).append(pid)
        return own, tasks

    def used(self) -> Used:
        own, tasks = self.split()
        return Used(sum(measures.seconds_of(pid)[0] for pid in own),
                    sum(sum(measures.seconds_of(pid)) for pid in tasks))

    def memory(self) -> dict[str, float]:
        own, tasks = self.split()
        return {"server": sum(map(measures.mebibytes_of, own)), "workers": sum(map(measures.mebibytes_of, tasks))}

    def report_trials(self, count: int) -> None:
        from ray import tune
        tuner = tune.Tuner(tune.with_resources(trial, {"cpu": 1}), param_space={"x": tune.uniform(0, 1)},
                           tune_config=tune.TuneConfig(num_samples=count, metric="val_loss", mode="min"),
                           run_config=tune.RunConfig(storage_path=str(self.folder / "results"), verbose=0))
        results = tuner.fit()
        if results.num_errors or len(results) != count:
            raise RuntimeError(f"{results.num_errors} of {len(results)} trials failed")

    def stop(self) -> None:
        ray.shutdown()


if __name__ == "__main__":
    measures.main(Ray, measures.take_options(["plain", "functions", "tune"]))
