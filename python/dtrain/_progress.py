"""How far an experiment is, while somebody waits: a bar where ipywidgets is, a line that is rewritten in a terminal or
a notebook without it, nothing elsewhere."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from .results import Experiment


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def line(experiment: Experiment) -> str:
    """"experiment 12: running, 45%, 3 of 9 trials ended, 2 running, best val_loss 3.0120 (12/2), 3 min 20 s left"."""
    ended = experiment.finished + experiment.failed + experiment.cancelled
    parts = [f"experiment {experiment.experiment}: {experiment.state}", f"{experiment.progress_ratio:.0%}",
             f"{ended} of {experiment.trials} trials ended"]
    if experiment.running:
        parts.append(f"{experiment.running} running")
    if experiment.failed:
        parts.append(f"{experiment.failed} failed")
    if experiment.best_value is not None:
        parts.append(f"best {experiment.metric} {experiment.best_value:.4f} "
                     f"({experiment.experiment}/{experiment.best_trial})")
    if experiment.eta_seconds is not None and not experiment.ended:
        parts.append(f"{_duration(experiment.eta_seconds)} left")
    return ", ".join(parts)


def in_notebook() -> bool:
    """Whether this runs in a kernel that a notebook shows."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Nothing:
    """Shows nothing."""

    def show(self, text: str, ratio: float) -> None:
        """Called again and again."""

    def end(self) -> None:
        """Called once, whatever happened."""


class RewrittenLine(Nothing):
    """One line, rewritten in place when it changes."""

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
    """What shows the progress: None decides by where this runs, True shows it everywhere."""
    if wanted is False:
        return Nothing()
    if in_notebook():
        try:
            import ipywidgets
            from IPython.display import display
            return Widget(ipywidgets, display)
        except ImportError:
            return RewrittenLine(sys.stdout)
    return RewrittenLine(sys.stderr) if wanted or sys.stderr.isatty() else Nothing()
