"""Optuna: trials in this process, kept in SQLite or in its journal file."""

import argparse
import pathlib
import sys

import measures

try:
    import optuna
except ImportError as error:
    print(error)
    sys.exit(measures.NOT_INSTALLED)


def objective(trial: "optuna.Trial") -> float:
    x = trial.suggest_float("x", 0, 1)
    for step in range(1, measures.REPORTS + 1):
        trial.report(x / step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return x / measures.REPORTS


class Optuna:
    version = f"Optuna {optuna.__version__}"

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.folder, self.variant = folder, options.variant
        storage = "RDBStorage on SQLite" if self.variant == "plain" else "JournalStorage on JournalFileBackend"
        self.how = f"{storage}, RandomSampler, NopPruner, study.optimize in one process, no process a trial"

    def start(self) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        if self.variant == "plain":
            storage = optuna.storages.RDBStorage(f"sqlite:///{self.folder / 'study.db'}")
        else:
            backend = optuna.storages.journal.JournalFileBackend(str(self.folder / "study.log"))
            storage = optuna.storages.JournalStorage(backend)
        self.study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1),
                                         pruner=optuna.pruners.NopPruner())

    def report_trials(self, count: int) -> None:
        before = len(self.study.trials)
        self.study.optimize(objective, n_trials=count)
        if len(self.study.trials) != before + count:
            raise RuntimeError(f"{len(self.study.trials) - before} of {count} trials are kept")

    def stop(self) -> None:
        """Has started no process."""


if __name__ == "__main__":
    measures.main(Optuna, measures.take_options(["plain", "journal"]))
