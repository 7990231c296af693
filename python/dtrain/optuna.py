"""Optuna's words for a search that dtrain keeps: change `import optuna` to `import dtrain.optuna as optuna`.

    import dtrain.optuna as optuna

    def objective(trial):
        x = trial.suggest_float("x", -10, 10)
        return (x - 2) ** 2

    study = optuna.create_study(study_name="square")
    study.optimize(objective, n_trials=50)
    study.best_params

The search is an experiment of the coordinator that `dtrain.Client()` finds. docs/guides/studies.md lists what differs.
"""

from __future__ import annotations

import os
import secrets
import types
import warnings
from typing import Any, Callable, Mapping, Sequence

from ._study import Study as _Study
from ._study import StudyTrial, TrialPruned
from .client import Client
from .errors import DtrainError, NotFoundError, UsageError
from .results import Trial as _Result

__all__ = ["DuplicatedStudyError", "FrozenTrial", "Study", "TrialPruned", "create_study", "delete_study",
           "exceptions", "load_study", "logging", "pruners", "samplers", "trial"]

# The most trials of an experiment: a study has as many as its calls of optimize ask for.
_TRIALS_MAX = 10_000


class DuplicatedStudyError(DtrainError):
    """A study of this name exists; load_if_exists=True goes on with it."""


class _Named:
    """A sampler or a pruner, by its name and arguments."""

    # Optuna's positional arguments, in its order, and the arguments that have a meaning here.
    positional: tuple[str, ...] = ()
    used: tuple[str, ...] = ()

    def __init__(self, *positional: Any, **arguments: Any) -> None:
        if len(positional) > len(self.positional):
            raise UsageError(f"{type(self).__name__} has {len(positional)} arguments without a name; name them")
        self._arguments = {**dict(zip(self.positional, positional)), **arguments}
        ignored = sorted(name for name, value in self._arguments.items() if name not in self.used and value is not None)
        if ignored:
            warnings.warn(f"{type(self).__name__}: {', '.join(ignored)} has no meaning here", stacklevel=2)

    def get(self, name: str) -> Any:
        """Returns an argument; None: it was not given."""
        return self._arguments.get(name)


class TPESampler(_Named):
    """method: bayes."""

    used = ("seed",)


class GridSampler(_Named):
    """method: grid over the search space that it is given."""

    positional = ("search_space", "seed")
    used = ("search_space",)


class NopPruner(_Named):
    """No rule ends a trial."""


class MedianPruner(_Named):
    """stop: {median: {after: …}}: n_warmup_steps, or 1."""

    positional = ("n_startup_trials", "n_warmup_steps", "interval_steps")
    used = ("n_warmup_steps",)


class PatientPruner(_Named):
    """stop: {patience: …}."""

    positional = ("wrapped_pruner", "patience", "min_delta")
    used = ("patience",)


class SuccessiveHalvingPruner(_Named):
    """method: asha; it needs max_resource, the last step that trials report."""

    positional = ("min_resource", "reduction_factor", "min_early_stopping_rate", "bootstrap_count")
    used = ("reduction_factor", "max_resource")
    factor = 4


class HyperbandPruner(SuccessiveHalvingPruner):
    """method: asha with brackets."""

    positional = ("min_resource", "max_resource", "reduction_factor", "bootstrap_count")
    factor = 3


class FrozenTrial:
    """A trial as it is now, in Optuna's words; `dtrain_trial` has everything else."""

    def __init__(self, result: _Result) -> None:
        self.dtrain_trial = result
        self.number = result.trial - 1
        self.value: float | None = result.metric_value
        self.params = dict(result.parameters)
        self.datetime_start, self.datetime_complete = result.started_at, result.ended_at
        pruned = result.cause == "stopped_early"
        self.state = ("PRUNED" if pruned else
                      {"finished": "COMPLETE", "failed": "FAIL", "cancelled": "FAIL", "pending": "WAITING"}
                      .get(result.state, "RUNNING"))

    def __repr__(self) -> str:
        return f"FrozenTrial(number={self.number}, state={self.state}, value={self.value}, params={self.params})"

    @property
    def values(self) -> list[float] | None:
        """The value in a list."""
        return None if self.value is None else [self.value]


Objective = Callable[[Any], "float | None"]


class Study:
    """A study in Optuna's words; `dtrain_study` is dtrain's own."""

    def __init__(self, client: Client, name: str, goal: str, settings: Mapping[str, Any]) -> None:
        self._client, self.study_name, self._goal, self._settings = client, name, goal, dict(settings)
        self._study: _Study | None = None
        self.user_attrs: dict[str, Any] = {}

    @property
    def dtrain_study(self) -> _Study:
        """The study as dtrain has it. It exists once a trial was asked for, or it was loaded."""
        return self._opened(None)

    @property
    def direction(self) -> str:
        """"MINIMIZE" or "MAXIMIZE"."""
        return self._goal.upper()

    def optimize(self, func: Objective, n_trials: int | None = None, timeout: float | None = None, n_jobs: int = 1,
                 catch: type[Exception] | tuple[type[Exception], ...] = (),
                 callbacks: Sequence[Callable[[Study, FrozenTrial], None]] | None = None, gc_after_trial: bool = False,
                 show_progress_bar: bool = False) -> None:
        """Runs `n_trials` more trials, or trials until `timeout`, `n_jobs` at once."""
        study = self._opened(n_trials)
        if n_jobs == -1:
            n_jobs = os.cpu_count() or 1

        def objective(trial: StudyTrial) -> float | None:
            value = func(_optuna_trial(trial))
            return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value

        def run(trial: StudyTrial) -> None:
            study._run_one(objective, trial, catch)
            found = FrozenTrial(self._client.trial(trial.id)) if callbacks else None
            for callback in callbacks or ():
                callback(self, found)  # type: ignore[arg-type]

        study._optimize(run, n_trials, n_jobs, timeout)

    def stop(self) -> None:
        """Makes `optimize` return after the trials that run now."""
        self.dtrain_study.stop()

    def ask(self) -> StudyTrial:
        """Returns a trial to run."""
        trial = self._opened(1).ask()
        if trial is None:
            raise UsageError(f"study '{self.study_name}' has no trial left")
        return _optuna_trial(trial)

    def tell(self, trial: StudyTrial, values: float | Sequence[float] | None = None, state: Any = None) -> None:
        """Ends a trial with its value, or with a state."""
        value = values[0] if isinstance(values, (list, tuple)) else values
        word = str(getattr(state, "name", state) or "").rpartition(".")[2]
        self.dtrain_study.tell(trial, value, state=word)  # type: ignore[arg-type]

    @property
    def trials(self) -> list[FrozenTrial]:
        """The trials so far, oldest first."""
        return [] if self._found() is None else [FrozenTrial(one) for one in self.dtrain_study.trials]

    def get_trials(self, deepcopy: bool = True, states: Sequence[str] | None = None) -> list[FrozenTrial]:
        """Returns the trials in one of the states."""
        return [one for one in self.trials if states is None or one.state in states]

    @property
    def best_trial(self) -> FrozenTrial:
        """The best trial. Raises ValueError if none has a value."""
        try:
            return FrozenTrial(self.dtrain_study.best_trial)
        except NotFoundError as error:
            raise ValueError(f"no trial has a value yet: {error}") from None

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best trial."""
        return self.best_trial.params

    @property
    def best_value(self) -> float:
        """The best value."""
        return float(self.best_trial.value)  # type: ignore[arg-type]

    def trials_dataframe(self, attrs: Sequence[str] = ("number", "value", "datetime_start", "datetime_complete",
                                                       "params", "state")) -> Any:
        """Returns the trials as a pandas data frame, with a column `params_NAME` for each parameter."""
        import pandas

        names = sorted({name for one in self.trials for name in one.params})
        rows = []
        for one in self.trials:
            row: dict[str, Any] = {}
            for attr in attrs:
                if attr == "params":
                    row.update((f"params_{name}", one.params.get(name)) for name in names)
                else:
                    row[attr] = getattr(one, attr, None)
            rows.append(row)
        return pandas.DataFrame(rows)

    def set_user_attr(self, key: str, value: Any) -> None:
        """Keeps a value in this process alone."""
        self.user_attrs[key] = value

    def _found(self) -> _Study | None:
        if self._study is None:
            found = self._client._find_study(self.study_name, "value", self._goal)
            if found is not None:
                self._study = _Study(self._client, found[0], "value", None)
        return self._study

    def _opened(self, more: int | None) -> _Study:
        """Returns the study with room for `more` trials; None: for any number."""
        study = self._found()
        if study is None:
            wanted = more or _TRIALS_MAX
            self._study = self._client.study(metric="value", goal=self._goal, name=self.study_name, n_trials=wanted,
                                             **self._settings)
            return self._study
        if more is not None and self._settings.get("method") != "grid":
            state = study.state
            wanted = min(_TRIALS_MAX, state.finished + state.failed + state.cancelled + state.running + more)
            self._client.study(metric="value", goal=self._goal, name=self.study_name, n_trials=wanted)
        return study


def create_study(*, storage: Any = None, sampler: Any = None, pruner: Any = None, study_name: str | None = None,
                 direction: Any = None, load_if_exists: bool = False, directions: Sequence[Any] | None = None,
                 client: Client | None = None) -> Study:
    """Makes a study. The coordinator keeps it, so `storage` has no meaning here."""
    if directions is not None and len(directions) != 1:
        raise UsageError("a study has one direction here")
    given = direction or (directions or ["minimize"])[0]
    word = str(getattr(given, "name", given)).lower()
    if word not in ("minimize", "maximize"):
        raise UsageError(f"direction is {direction!r}; give 'minimize' or 'maximize'")
    client = client or Client()
    name = study_name or f"study-{secrets.token_hex(4)}"
    study = Study(client, name, word, _settings(sampler, pruner))
    if study_name is not None and not load_if_exists and study._found() is not None:
        raise DuplicatedStudyError(f"study '{name}' exists; give load_if_exists=True to go on with it, or another name")
    return study


def load_study(*, study_name: str, storage: Any = None, sampler: Any = None, pruner: Any = None,
               client: Client | None = None) -> Study:
    """Returns the study of this name. Raises KeyError if there is none."""
    client = client or Client()
    found = client._find_study(study_name, "value")
    if found is None:
        raise KeyError(f"there is no study '{study_name}'")
    return Study(client, study_name, client.experiment(found[0]).goal, {})


def delete_study(*, study_name: str, storage: Any = None, client: Client | None = None) -> None:
    """Cancels a study if it has not ended, and removes it."""
    client = client or Client()
    found = client._find_study(study_name, "value")
    if found is None:
        raise KeyError(f"there is no study '{study_name}'")
    if not client.experiment(found[0]).ended:
        client.cancel(found[0])
        client.wait(found[0], progress=False)
    client.delete(found[0])


def _settings(sampler: Any, pruner: Any) -> dict[str, Any]:
    """Returns the arguments of `Client.study` that mean this sampler and this pruner."""
    settings: dict[str, Any] = {}
    if isinstance(sampler, GridSampler):
        space = sampler.get("search_space") or {}
        settings.update(space={name: list(values) for name, values in space.items()}, method="grid")
    elif sampler is not None and not isinstance(sampler, TPESampler):
        raise UsageError(f"sampler {type(sampler).__name__} has no counterpart; use TPESampler or GridSampler")
    elif sampler is not None and sampler.get("seed") is not None:
        settings["seed"] = int(sampler.get("seed"))
    pruner = MedianPruner() if pruner is None else pruner
    if isinstance(pruner, MedianPruner):
        settings["stop"] = {"median": {"after": int(pruner.get("n_warmup_steps") or 1)}}
    elif isinstance(pruner, PatientPruner):
        if pruner.get("patience") is None:
            raise UsageError("PatientPruner needs patience")
        settings["stop"] = {"patience": int(pruner.get("patience"))}
    elif isinstance(pruner, SuccessiveHalvingPruner):
        if settings.get("method") == "grid":
            raise UsageError(f"GridSampler does not go with {type(pruner).__name__}; use TPESampler or MedianPruner")
        most = pruner.get("max_resource")
        if not isinstance(most, int):
            raise UsageError(f"{type(pruner).__name__} needs max_resource here: the last step that trials report")
        eta = int(pruner.get("reduction_factor") or pruner.factor)
        # The first rung is at a step of its own.
        asha = {"eta": eta, "rungs": next((rungs for rungs in (3, 2) if most >= eta**rungs), 1)}
        if isinstance(pruner, HyperbandPruner):
            asha["brackets"] = 3
        settings.update(method="asha", sampler="bayes", steps=most, asha=asha)
    elif not isinstance(pruner, NopPruner):
        raise UsageError(f"pruner {type(pruner).__name__} has no counterpart; use MedianPruner, PatientPruner, "
                         "SuccessiveHalvingPruner, HyperbandPruner or NopPruner")
    return settings


def _optuna_trial(trial: StudyTrial) -> StudyTrial:
    """Returns the trial with Optuna's number, which counts from 0."""
    trial.number = trial._trial - 1
    return trial


samplers = types.SimpleNamespace(TPESampler=TPESampler, GridSampler=GridSampler)
pruners = types.SimpleNamespace(NopPruner=NopPruner, MedianPruner=MedianPruner, PatientPruner=PatientPruner,
                                SuccessiveHalvingPruner=SuccessiveHalvingPruner, HyperbandPruner=HyperbandPruner)
exceptions = types.SimpleNamespace(TrialPruned=TrialPruned, DuplicatedStudyError=DuplicatedStudyError)
trial = types.SimpleNamespace(
    Trial=StudyTrial, FrozenTrial=FrozenTrial,
    TrialState=types.SimpleNamespace(COMPLETE="COMPLETE", PRUNED="PRUNED", FAIL="FAIL", RUNNING="RUNNING",
                                     WAITING="WAITING"))
logging = types.SimpleNamespace(set_verbosity=lambda level: None, WARNING=30, INFO=20, DEBUG=10, ERROR=40)
