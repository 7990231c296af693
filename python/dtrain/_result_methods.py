"""Methods of results: the dataclasses in results.py, which the build generates, inherit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._notebook import Shown

if TYPE_CHECKING:
    from .results import PlannedTrials, Value


class Ends:
    """A result with a state that may be final."""

    state: str

    @property
    def ended(self) -> bool:
        """Whether its state is final."""
        return self.state in ("finished", "failed", "cancelled")

    @property
    def succeeded(self) -> bool:
        """Whether it ended without failures; for an experiment, running out of memory is no failure."""
        return self.state == "finished"


class SubmissionMethods(Shown):
    """Methods of a `Submission`."""

    experiment: int
    trials: int
    device: str
    note: str

    def _fragment(self) -> str:
        return f"/experiments/{self.experiment}"

    def _summary(self) -> dict[str, Any]:
        return {"experiment": self.experiment, "trials": self.trials, "device": self.device, "note": self.note}


class PlanMethods:
    """Methods of a `Plan`."""

    configurations: list[PlannedTrials]

    @property
    def fits(self) -> bool:
        """Whether every trial could run."""
        return all(one.fits for one in self.configurations)


class ExperimentMethods(Ends, Shown):
    """Methods of an `Experiment`."""

    experiment: int
    name: str
    trials: int
    progress_ratio: float
    metric: str
    best_trial: int | None
    best_value: float | None
    metrics: tuple[str, ...]
    pareto_trials: tuple[int, ...]
    paused: bool

    @property
    def id(self) -> str:
        """Its number as text."""
        return str(self.experiment)

    def _fragment(self) -> str:
        return f"/experiments/{self.experiment}"

    def _summary(self) -> dict[str, Any]:
        best = None if self.best_trial is None else f"{self.best_value:.6g} ({self.experiment}/{self.best_trial})"
        if self.metrics:
            best = f"front of {len(self.pareto_trials)}" if self.pareto_trials else None
        return {"experiment": self.id, "name": self.name, "state": "paused" if self.paused else self.state,
                "trials": self.trials, "done": f"{self.progress_ratio:.0%}",
                "metric": ", ".join(self.metrics) or self.metric, "best": best}


class TrialMethods(Ends, Shown):
    """Methods of a `Trial`."""

    experiment: int
    trial: int
    cause: str | None
    message: str
    waiting: str
    parameters: dict[str, Value]
    step: int
    metric_value: float | None

    @property
    def id(self) -> str:
        """Its numbers as text, such as "12/3"."""
        return f"{self.experiment}/{self.trial}"

    def _fragment(self) -> str:
        return f"/experiments/{self.experiment}/trials/{self.trial}"

    def _summary(self) -> dict[str, Any]:
        return {"trial": self.id, "parameters": self.parameters, "metric": self.metric_value,
                "state": self.state if self.cause in (None, self.state) else f"{self.state}: {self.cause}",
                "step": self.step, "message": self.message or self.waiting}
