"""Methods of a client that read what a trial measured and wrote: metrics, plots, logs."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from . import _convert, _from_messages, _limits, _notebook, _selector, _tables
from ._selector import Selection, Selector
from ._summaries import Summaries
from .errors import NotFoundError, UsageError
from .results import LogLine, Trial, Value
from .v1 import control_pb2 as pb

if TYPE_CHECKING:
    import pandas


class Measurements(Summaries):
    """The part of `Client` that reads metrics and logs."""

    def metrics(self, selection: Selection = "last", *, metrics: Sequence[str] = (),
                all_attempts: bool = False) -> Iterator[dict[str, Any]]:
        """Yields every logged step and evaluation as a dict, by trial, step and attempt, page by page.

        Keys are experiment, trial, attempt, step, then the metrics that the row has, named as in ``dtctl metrics``
        (docs/reference/command-line.md), and ``parameters``, the trial's. With `metrics`, only these; with
        `all_attempts`, also rows of steps that a later attempt repeated, marked ``superseded``.

        >>> [row["loss"] for row in client.metrics("last/1", metrics=["loss"])]
        """
        return self._rows(self._settled(self._select(selection)), _names(metrics), all_attempts)

    def metrics_df(self, selection: Selection = "last", *, metrics: Sequence[str] = (),
                   all_attempts: bool = False) -> pandas.DataFrame:
        """Returns `metrics` as a data frame. The trial's parameters are the last columns, by their paths; if another
        column has that name, the column has the prefix `parameters.`.

        >>> frame = client.metrics_df("last", metrics=["val_loss"])
        >>> frame.pivot_table(index="step", columns="optimizer.lr", values="val_loss").plot()
        """
        selector, names = self._settled(self._select(selection)), _names(metrics)
        return _tables.metrics_frame(self._rows(selector, names, all_attempts), names, all_attempts,
                                     self._parameters(selector))

    def plot(self, selection: Selection = "last", metric: str = "", *, over: str = "step", logy: bool = False,
             ax: Any = None) -> Any:
        """Draws a metric of an experiment's best trials, or of one trial, with matplotlib, and returns the axes.

        >>> client.plot("last")                       # what its trials are compared by, else the loss
        >>> client.plot("12/3", "loss", over="tokens", logy=True)

        Args:
            metric: a name of `metrics`.
            over: "step", or "tokens", which a program may not count.
            logy: whether the axis of the values is logarithmic.
            ax: axes to draw into.
        """
        if over not in ("step", "tokens"):
            raise UsageError(f"over is {over!r}; it must be 'step' or 'tokens'")
        selector = self._settled(self._select(selection))
        trials = self.trials(selector.text())
        chosen = trials if selector.trial else (self.ranked(selector.text()) or trials)[:_notebook.CURVES_SHOWN]
        wanted = [metric] if metric else [self._experiment(selector).metric or "loss", "loss"]
        for name in dict.fromkeys(wanted):
            curves = [(trial, self._points(trial, name)) for trial in chosen]
            if any(points for _, points in curves):
                break
        scale = {trial.trial: (trial.tokens_per_step or math.nan) if over == "tokens" else 1 for trial in chosen}
        return _notebook.draw(
            ((f"{trial.id} " + ", ".join(f"{path.rpartition('.')[2]}={value:.4g}" if isinstance(value, float) else
                                         f"{path.rpartition('.')[2]}={value}"
                                         for path, value in trial.parameters.items()),
              [step * scale[trial.trial] for step, _ in points], [value for _, value in points])
             for trial, points in curves if points), name, over, logy, ax)

    def _points(self, trial: Trial, metric: str) -> list[tuple[int, float]]:
        """Returns the steps and values of a curve."""
        return [(row["step"], row[metric]) for row in self.metrics(trial)
                if metric in row and isinstance(row[metric], (int, float))]

    def _rows(self, selector: Selector, names: Sequence[str], all_attempts: bool) -> Iterator[dict[str, Any]]:
        listed = self._list("Trials", selector.into(pb.ListTrialsRequest()))
        parameters: dict[int, dict[str, Value]] = {one.trial: _convert.assignments(one.assignments) for one in listed}
        request = selector.into(pb.ReadMetricsRequest(all_attempts=all_attempts, page_size=_limits.METRIC_PAGE))
        return _tables.rows(selector.experiment, self._pages("ReadMetrics", request), names, all_attempts, parameters)

    def logs(self, trial: Selection, *, rank: int | None = None, follow: bool = False) -> Iterator[LogLine]:
        """Yields the output of a trial's trainers, line by line; with `follow`, until the trial has ended.

        >>> for line in client.logs("last/1", rank=0, follow=True):
        ...     print(line.text)
        """
        selector = _selector.select_trial(trial, self._named)
        found = self.trial(selector.text())
        if rank is not None and not 0 <= rank < max(1, found.world_size):
            raise NotFoundError(f"trial {found.id} has ranks 0 to {max(1, found.world_size) - 1}; there is no rank "
                                f"{rank}")
        return self._log_lines(found, -1 if rank is None else rank, follow)

    def _log_lines(self, trial: Trial, rank: int, follow: bool) -> Iterator[LogLine]:
        request = pb.ReadLogsRequest(experiment=trial.experiment, trial=trial.trial, rank=rank,
                                     page_size=_limits.LOG_PAGE)
        ended = not follow
        while True:
            page = self._connection.call("ReadLogs", request)
            for chunk in page.chunks:
                yield from log_lines(chunk)
            request.page_token = page.next_page_token
            if not page.at_end:
                continue
            # All output from before the end has arrived by then; one more look gets it.
            if ended:
                return
            ended = self.trial(trial).ended
            if not ended:
                time.sleep(_limits.POLL_SECONDS)


def _names(metrics: Sequence[str]) -> list[str]:
    """Returns the names of metrics; a caller may give one as text."""
    return [metrics] if isinstance(metrics, str) else list(metrics)


def log_lines(chunk: pb.LogLineChunk) -> list[LogLine]:
    """Returns the lines of a chunk; the last of them has the number of lines that were dropped after it."""
    every = _from_messages.log_line(chunk)
    texts = every.text.split("\n")
    if not texts[-1] and (len(texts) > 1 or not every.dropped_lines):
        texts.pop()
    lines = [dataclasses.replace(every, text=text, dropped_lines=0) for text in texts]
    if every.dropped_lines:
        lines[-1] = dataclasses.replace(lines[-1], dropped_lines=every.dropped_lines)
    return lines
