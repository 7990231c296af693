"""Shows the progress of an experiment during a wait. A notebook with ipywidgets gets a bar; a terminal, or a notebook
without it, a rewritten line. Elsewhere a line comes from time to time, and only if nothing runs."""

from __future__ import annotations

import datetime
import sys
import time
from typing import Any, Callable, TextIO

from .results import Experiment

# How often a program that waits without a terminal reads why nothing runs.
_EVERY_SECONDS = 60.0


def _duration(seconds: float) -> str:
    """Returns "20 s", "3 min 20 s" or "2 h 03 min"."""
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"


def line(experiment: Experiment) -> str:
    """Returns "experiment 12: running, 45%, 3 of 9 trials ended, 2 running, best val_loss 3.0120 (12/2), 3 min 20 s
    left"."""
    ended = experiment.finished + experiment.failed + experiment.cancelled
    parts = [f"experiment {experiment.experiment}: {experiment.state}", f"{experiment.progress_ratio:.0%}",
             f"{ended} of {experiment.trials} trials ended"]
    if experiment.running:
        parts.append(f"{experiment.running} running")
    if experiment.failed:
        parts.append(f"{experiment.failed} failed")
    if experiment.metrics:
        front = len(experiment.pareto_trials)
        parts.append(f"{front} on the Pareto front of {', '.join(experiment.metrics)}")
    elif experiment.best_value is not None:
        parts.append(f"best {experiment.metric} {experiment.best_value:.4f} "
                     f"({experiment.experiment}/{experiment.best_trial})")
    if experiment.eta_seconds is not None and not experiment.ended:
        parts.append(f"{_duration(experiment.eta_seconds)} left")
    if experiment.waiting and not experiment.ended:
        parts.append(f"does not run: {experiment.waiting}")
    return ", ".join(parts)


def standstill(experiment: Experiment) -> str:
    """Returns why nothing of it runs, as a line of its own; empty if something runs."""
    if not experiment.waiting or experiment.ended:
        return ""
    return f"experiment {experiment.experiment} does not run: {experiment.waiting}"


def silence(experiment: str, answered: datetime.datetime, now: datetime.datetime) -> str:
    """Returns the text to show while no coordinator answers: the last line may be long out of date."""
    away = _duration((now - answered).total_seconds())
    return (f"experiment {experiment}: no answer from the coordinator for {away}, since {answered:%H:%M:%S} UTC; "
            "trying again, the trials go on")


def in_notebook() -> bool:
    """Returns whether this runs in a kernel whose notebook shows output."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Nothing:
    """Shows nothing."""

    def show(self, text: str, ratio: float) -> None:
        """Shows the state; called at each look."""

    def note(self, text: str) -> None:
        """Shows the reason why nothing runs, empty if something does; called beside `show`."""

    def end(self) -> None:
        """Ends the display; called once, also after an error."""


class Notes(Nothing):
    """Shows no progress, but a line if a person should know why there is none: at the second look, then each minute."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._looks = 0
        self._due = 0.0

    def note(self, text: str) -> None:
        if not text:
            self._looks = 0
            return
        self._looks += 1
        if self._looks < 2 or (self._looks > 2 and self._clock() < self._due):
            return
        self._due = self._clock() + _EVERY_SECONDS
        self._out.write(text + "\n")
        self._out.flush()


class RewrittenLine(Nothing):
    """A line, rewritten in place when it changes."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shown = ""

    def show(self, text: str, ratio: float) -> None:
        if text != self._shown:
            self._out.write("\r" + text + " " * max(0, len(self._shown) - len(text)))
            self._out.flush()
            self._shown = text

    def end(self) -> None:
        if self._shown:
            self._out.write("\n")
            self._out.flush()


class Widget(Nothing):
    """A bar of ipywidgets with the line below it."""

    def __init__(self, ipywidgets: Any, display: Any) -> None:
        self._bar = ipywidgets.FloatProgress(value=0.0, min=0.0, max=1.0)
        self._label = ipywidgets.Label(value="")
        display(ipywidgets.VBox([self._bar, self._label]))

    def show(self, text: str, ratio: float) -> None:
        self._bar.value = ratio
        self._label.value = text


def choose(wanted: bool | None) -> Nothing:
    """Returns the display: None decides by where this runs, True shows it everywhere."""
    if wanted is False:
        return Nothing()
    if in_notebook():
        try:
            import ipywidgets
            from IPython.display import display
            return Widget(ipywidgets, display)
        except ImportError:
            return RewrittenLine(sys.stdout)
    return RewrittenLine(sys.stderr) if wanted or sys.stderr.isatty() else Notes(sys.stderr)
