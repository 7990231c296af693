"""The method of a client that waits for an experiment or a trial."""

from __future__ import annotations

import datetime
import time
from typing import Literal

from . import _from_messages, _limits, _progress
from ._selector import Selection, Selector
from ._summaries import Summaries
from .errors import BusyError, UnreachableError, UsageError, WaitTimeoutError
from .results import Experiment, Trial
from .v1 import control_pb2 as pb

Until = Literal["done", "running", "first-step"]
_NOT_YET = {"done": "did not end", "running": "did not train", "first-step": "made no step"}


class Waits(Summaries):
    """The part of `Client` that waits."""

    def wait(self, selection: Selection = "last", *, until: Until = "done", timeout: float | None = None,
             progress: bool | None = None) -> Experiment | Trial:
        """Waits until an experiment, or a trial, has ended; returns its state at that time.

        It shows progress: in a notebook as a bar (with ipywidgets) or a line, in a terminal as a line on stderr,
        elsewhere not; `progress` True or False overrides this. If nothing runs, or no coordinator answers, it reports
        why and since when, also on stderr, unless `progress` is False. A coordinator may be away for five minutes.
        Interrupting ends the wait but not the experiment.

        >>> if not client.wait(submitted).succeeded:
        ...     print([trial.message for trial in client.trials(submitted, states=["failed"])])

        Args:
            until: ``"done"``; ``"running"``: a trial trains; ``"first-step"``: a trial has made a step.
            timeout: seconds after which to give up with a WaitTimeoutError.
        """
        if until not in _NOT_YET:
            raise UsageError(f"until is {until!r}; give 'done', 'running' or 'first-step'")
        deadline = None if timeout is None else time.monotonic() + timeout
        selector = self._settled(self._select(selection))
        if selector.trial:
            self.trial(selector.text())  # checks that it exists
        shown = _progress.choose(progress)
        answered, answered_at, ratio = time.monotonic(), _now(), 0.0
        try:
            while True:
                try:
                    experiment = self._experiment(selector)
                    ratio = experiment.progress_ratio
                    shown.show(_progress.line(experiment), ratio)
                    shown.note(_progress.standstill(experiment))
                    reached = self._reached(experiment, selector, until)
                    answered, answered_at = time.monotonic(), _now()
                    if reached is not None:
                        return reached
                except (UnreachableError, BusyError):
                    if time.monotonic() - answered > _limits.FOLLOW_PATIENCE_SECONDS:
                        raise
                    text = _progress.silence(str(selector.experiment), answered_at, _now())
                    shown.show(text, ratio)
                    shown.note(text)
                if deadline is not None and time.monotonic() >= deadline:
                    raise WaitTimeoutError(f"{'trial' if selector.trial else 'experiment'} {selector.text()} "
                                           f"{_NOT_YET[until]} within {timeout:g} s; it goes on")
                left = _limits.POLL_SECONDS if deadline is None else deadline - time.monotonic()
                time.sleep(max(0.0, min(left, _limits.POLL_SECONDS)))
        finally:
            shown.end()

    def _reached(self, experiment: Experiment, selector: Selector, until: Until) -> Experiment | Trial | None:
        """Returns the selected experiment or trial once it has come that far; None before."""
        if selector.trial == 0 and (until == "done" or experiment.ended):
            return experiment if experiment.ended else None
        listed = self._list("Trials", selector.into(pb.ListTrialsRequest()))
        come = [one for one in map(_from_messages.trial, listed) if _has_come(one, until)]
        if selector.trial:
            return come[0] if come else None
        # A trial that ended before it trained does not count.
        return experiment if any(one.step > 0 or not one.ended for one in come) else None


def _now() -> datetime.datetime:
    """Returns the time in UTC."""
    return datetime.datetime.now(datetime.timezone.utc)


def _has_come(trial: Trial, until: Until) -> bool:
    """Returns whether a trial has come that far, or ended."""
    return trial.ended or (until == "running" and trial.state == "running") or (
        until == "first-step" and trial.step > 0)
