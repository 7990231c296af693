"""Turns logged steps and evaluations into rows with named columns, and lists into data frames.

The columns of a row are those of `dtctl metrics`: the fields of a logged step, whose names carry the units, then
derived values and the evaluation of the same step, then the experiment's parameters.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import math
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence, Tuple

from .errors import DtrainError, UsageError
from .results import Trial
from .v1 import control_pb2, model_pb2

if TYPE_CHECKING:
    import pandas

KEYS = ("experiment", "trial", "attempt", "step")
# The columns of a trial before and after its parameters.
_TRIAL_KEYS = ("experiment", "trial")
_TRIAL_RESULTS = ("metric_value", "state")
# The columns of a row besides its metrics, as in dtctl: a program's metric of such a name gets the prefix "metric.".
_RESERVED = frozenset((*KEYS, "superseded", "parameters", "logged_at", "collectives", "steps", "seconds",
                       "wall_time_ms"))
_METRIC_COLUMN = "metric."
_PARAMETER_COLUMN = "parameters."
# Only single numbers are columns, so the list of collectives is not.
_STEP_FIELDS = [field for field in model_pb2.StepRow.DESCRIPTOR.fields
                if field.name not in ("step", "collectives")]
_FOLLOWING = ("tokens_per_second", "flops_utilization_ratio")
# The values about the validation data in an evaluation, by our name and its field's.
_EVALUATION = {"val_loss": "loss", "val_perplexity_mean": "perplexity_mean"}
_OPTIONAL = [field.name for field in model_pb2.Evaluation.DESCRIPTOR.fields if field.containing_oneof]
_Key = Tuple[int, int, int]  # trial, step, attempt


def metric_names() -> list[str]:
    """Returns every column that a metric can have; an evaluation may have others that its program named."""
    return [field.name for field in _STEP_FIELDS] + [*_FOLLOWING, *_EVALUATION, *_OPTIONAL]


def _column_of(metric: str) -> str:
    """Returns the name of a program's metric in a row. A name that already has the prefix gets another, so that no two
    are equal."""
    rest = metric
    while rest.startswith(_METRIC_COLUMN):
        rest = rest[len(_METRIC_COLUMN):]
    return _METRIC_COLUMN + metric if rest in _RESERVED else metric


def _parameter_columns(paths: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """Returns the column of each parameter: its path, with "parameters." before it if that is a column of ours."""
    used = set(taken)
    columns: dict[str, str] = {}
    for path in paths:
        name = path
        while name in used:
            name = _PARAMETER_COLUMN + name
        used.add(name)
        columns[path] = name
    return columns


def _step_values(row: Any) -> dict[str, Any]:
    values = {field.name: getattr(row, field.name) for field in _STEP_FIELDS
              if not field.containing_oneof or row.HasField(field.name)}
    # As in lists: without evaluations and checkpoints.
    seconds = row.seconds - row.eval_seconds - row.checkpoint_seconds
    if row.tokens == 0:  # a program that counts no tokens; a trainer's row has some
        del values["tokens"]
    elif seconds > 0:
        values["tokens_per_second"] = row.tokens / seconds
    if seconds > 0 and row.peak_flops > 0:
        values["flops_utilization_ratio"] = row.flops / seconds / row.peak_flops
    return values


def _evaluation_values(evaluation: Any) -> dict[str, Any]:
    values = {name: getattr(evaluation, field) for name, field in _EVALUATION.items()}
    if values["val_perplexity_mean"] == 0:  # its trainer did not report it
        del values["val_perplexity_mean"]
    values.update({name: getattr(evaluation, name) for name in _OPTIONAL if evaluation.HasField(name)})
    values.update({_column_of(one.name): one.value for one in evaluation.metrics})
    return values


class _Joiner:
    """Puts evaluations beside their steps, and chooses metrics."""

    def __init__(self, experiment: int, chosen: Sequence[str], all_attempts: bool,
                 parameters: Mapping[int, Mapping[str, Any]]) -> None:
        self._experiment = experiment
        self._chosen = set(chosen)
        self._all_attempts = all_attempts
        self._parameters = parameters
        self._evaluations: collections.deque[tuple[_Key, Any]] = collections.deque()
        self._unseen = self._chosen - set(metric_names())

    def add(self, page: control_pb2.ReadMetricsResponse) -> Iterator[dict[str, Any]]:
        came = [((one.trial, one.evaluation.step, one.attempt), one) for one in page.evaluations
                if one.evaluation.split == "val"]
        self._evaluations = collections.deque(sorted([*self._evaluations, *came], key=lambda entry: entry[0]))
        for logged in page.rows:
            key = (logged.trial, logged.row.step, logged.attempt)
            yield from self._evaluations_before(key)
            values = _step_values(logged.row)
            if self._evaluations and self._evaluations[0][0] == key:
                values.update(_evaluation_values(self._evaluations.popleft()[1].evaluation))
            yield from self._row(key, logged.superseded, values)

    def finish(self) -> Iterator[dict[str, Any]]:
        """Returns the remaining rows. Raises UsageError for a metric that no row has."""
        yield from self._evaluations_before(None)
        for name in sorted(self._unseen):
            raise UsageError(f"there is no metric '{name}' in experiment {self._experiment}; there are: "
                             f"{', '.join(metric_names())}, and what its program reports")

    def _evaluations_before(self, end: _Key | None) -> Iterator[dict[str, Any]]:
        while self._evaluations and (end is None or self._evaluations[0][0] < end):
            key, one = self._evaluations.popleft()
            yield from self._row(key, one.superseded, _evaluation_values(one.evaluation))

    def _row(self, key: _Key, superseded: bool, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
        self._unseen.difference_update(values)
        kept = {name: content for name, content in values.items() if not self._chosen or name in self._chosen}
        if not kept:
            return
        row: dict[str, Any] = {"experiment": self._experiment, "trial": key[0], "attempt": key[2], "step": key[1]}
        if self._all_attempts:
            row["superseded"] = superseded
        row.update(kept)
        row["parameters"] = dict(self._parameters.get(key[0], {}))
        yield row


def rows(experiment: int, pages: Iterable[control_pb2.ReadMetricsResponse], chosen: Sequence[str], all_attempts: bool,
         parameters: Mapping[int, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields one row for each step and attempt, in the order of trial, step and attempt, as the pages come. With
    `chosen`, only those metrics. Raises UsageError at the end for a metric that no row has."""
    joiner = _Joiner(experiment, chosen, all_attempts, parameters)
    for page in pages:
        yield from joiner.add(page)
    yield from joiner.finish()


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise DtrainError("data frames need pandas, which is not installed; run 'python3 -m pip install pandas', or "
                          "use the method without _df") from error
    return pandas


def metrics_frame(found: Iterable[Mapping[str, Any]], chosen: Sequence[str], all_attempts: bool,
                  paths: Sequence[str]) -> pandas.DataFrame:
    """Returns rows as a frame with the same columns whatever was trained, except for metrics that programs named.
    Missing values are NaN. Numbers are packed as the rows come: a million rows take some hundred megabytes."""
    pandas_ = _pandas()
    keys = [*KEYS, *(["superseded"] if all_attempts else [])]
    columns: dict[str, array.array[Any]] = {name: array.array("q") for name in keys}
    metrics: dict[str, array.array[Any]] = {name: array.array("d") for name in list(chosen) or metric_names()}
    parameters: dict[int, Mapping[str, Any]] = {}
    count = 0
    for row in found:
        for name in row:
            if name not in metrics and name not in columns and name != "parameters":
                metrics[name] = array.array("d", [math.nan]) * count
        for name, column in columns.items():
            column.append(row[name])
        for name, column in metrics.items():
            column.append(row.get(name, math.nan))
        parameters[row["trial"]] = row["parameters"]
        count += 1
    frame = pandas_.DataFrame({name: memoryview(column) for name, column in {**columns, **metrics}.items()})
    for name in keys[len(KEYS):]:
        frame[name] = frame[name].astype(bool)
    for path, column in _parameter_columns(paths, frame.columns).items():
        frame[column] = frame["trial"].map({trial: held.get(path) for trial, held in parameters.items()})
    return frame


def trials_frame(trials: Sequence[Trial], paths: Sequence[str]) -> pandas.DataFrame:
    """Returns a row for each trial: its numbers, a column for each parameter, by its path, its result, then its other
    fields."""
    pandas_ = _pandas()
    nested = ("parameters", "provenance", "last_checkpoint")
    names = [one.name for one in dataclasses.fields(Trial) if one.name not in nested]
    columns: dict[str, list[Any]] = {name: [getattr(trial, name) for trial in trials] for name in names}
    swept = {column: [trial.parameters.get(path) for trial in trials]
             for path, column in _parameter_columns(paths, columns).items()}
    columns.update(swept)
    first = [*_TRIAL_KEYS, *swept, *_TRIAL_RESULTS]
    return pandas_.DataFrame({name: columns[name] for name in dict.fromkeys([*first, *columns])})
