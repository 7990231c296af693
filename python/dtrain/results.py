"""The coordinator's data as plain values: experiments, trials, checkpoints, workers.

States and causes are words ("running", "oom"), times are datetimes in UTC, and None stands for unknown.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Mapping, Union

from ._notebook import Shown
from .errors import Diagnostic

# A parameter's value, as in the experiment file.
Value = Union[int, float, str, bool, "list[float]", None]


@dataclass(frozen=True)
class Submission(Shown):
    """The result of `Client.submit` and `Client.validate`.

    ``note`` is for the submitter, for example that no connected worker could run it yet. ``warnings`` are about
    settings that are allowed but hardly intended.
    """

    experiment: int
    """Its number; 0 if nothing was submitted."""
    trials: int
    device: str
    note: str
    cannot_be_placed: bool
    warnings: list[Diagnostic]
    parameters: list[dict[str, Value]]
    """From `validate`: the parameters of the first hundred trials."""

    def _fragment(self) -> str:
        return f"/experiments/{self.experiment}"

    def _summary(self) -> dict[str, Any]:
        return {"experiment": self.experiment, "trials": self.trials, "device": self.device, "note": self.note}


@dataclass(frozen=True)
class PlannedTrials:
    """Trials that cost the same, from `Client.plan`; None stands for unknown."""

    first: int
    """The number of one of them, whose parameters are listed."""
    trials: int
    parameters: dict[str, Value]
    slots: int
    memory_bytes: int | None
    device_bytes: int | None
    """The memory of the smallest connected slot."""
    target_steps: int | None
    seconds: float | None
    estimated_from: str
    fits: bool
    lacks: str


@dataclass(frozen=True)
class Plan:
    """The result of `Client.plan`."""

    trials: int
    device: str
    configurations: list[PlannedTrials]
    slots_connected: int
    slots_free: int
    waiting_before: int
    slot_seconds: float | None
    finish_seconds: float | None
    notes: list[str]
    warnings: list[Diagnostic]

    @property
    def fits(self) -> bool:
        """Whether every trial could run."""
        return all(one.fits for one in self.configurations)


class _Ends:
    """Anything with a state that may be final."""

    state: str

    @property
    def ended(self) -> bool:
        return self.state in ("finished", "failed", "cancelled")

    @property
    def succeeded(self) -> bool:
        """Whether it ended without failures; for an experiment, running out of memory is no failure."""
        return self.state == "finished"


@dataclass(frozen=True)
class Experiment(_Ends, Shown):
    """A submitted file and its progress.

    >>> client.experiment("last").progress_ratio
    0.45
    """

    experiment: int
    name: str
    state: str
    """queued, running, finished, failed or cancelled."""
    trials: int
    pending: int
    running: int
    finished: int
    failed: int
    cancelled: int
    oom: int
    """Those of the failed ones that ran out of memory, which is a result."""
    progress_ratio: float
    eta_seconds: float | None
    metric: str
    goal: str
    best_trial: int | None
    best_value: float | None
    labels: dict[str, str]
    submitted_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    submitted_by: str
    note: str
    paused: bool
    archived: bool
    paused_why: str = ""
    """If the coordinator paused it: the thing to fix; empty if a person paused it."""
    waiting: str = ""
    """Set if only this experiment was requested: why nothing of it runs."""

    @property
    def id(self) -> str:
        return str(self.experiment)

    def _fragment(self) -> str:
        return f"/experiments/{self.experiment}"

    def _summary(self) -> dict[str, Any]:
        best = None if self.best_trial is None else f"{self.best_value:.6g} ({self.experiment}/{self.best_trial})"
        return {"experiment": self.id, "name": self.name, "state": "paused" if self.paused else self.state,
                "trials": self.trials, "done": f"{self.progress_ratio:.0%}", "metric": self.metric, "best": best}


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint; ``path`` is relative to the ``--storage`` of the workers in ``seen_by``."""

    experiment: int
    trial: int
    attempt: int | None
    """None in `Trial.last_checkpoint`, where it is unknown."""
    step: int
    path: str
    bytes: int
    loss: float | None
    best: bool
    storage_id: str
    manifest_hash: str
    seen_by: list[str]


@dataclass(frozen=True)
class Trial(_Ends, Shown):
    """A configuration of an experiment.

    >>> client.trial("12/3").parameters
    {'optimizer.lr': 0.001, 'train.batch_size': 8}
    """

    experiment: int
    trial: int
    state: str
    """pending, starting, running, stopping, finished, failed or cancelled."""
    cause: str | None
    """Why it ended, in a word ("oom"); None before."""
    message: str
    waiting: str
    """Why it waits, in a line."""
    hint: str
    """A hint about its program's reports: there are none, a printed line was nearly one, or something is dropped."""
    parameters: dict[str, Value]
    attempts: int
    step: int
    target_steps: int | None
    loss: float | None
    """From the newest logged step."""
    val_loss: float | None
    best_val_loss: float | None
    best_val_step: int | None
    metric_value: float | None
    """The best value of the experiment's search metric."""
    metric_step: int | None
    """The step of that evaluation."""
    metric_newest: float | None
    world_size: int
    workers: list[str]
    device: str
    seed: int
    tokens_per_second: float | None
    eta_seconds: float | None
    comm_ratio: float | None
    comm_exposed_ratio: float | None
    tokens_per_step: int | None
    train_tokens: int | None
    model_parameters: int | None
    data_fingerprint: str
    provenance: dict[str, Any]
    """The build that trained it, and where: program_version, torch_version, device_name, host, …"""
    last_checkpoint: Checkpoint | None
    started_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    training_seconds: float | None = None
    """Seconds of training, with evaluations and checkpoints, but without waits."""

    @property
    def id(self) -> str:
        return f"{self.experiment}/{self.trial}"

    def _fragment(self) -> str:
        return f"/experiments/{self.experiment}/trials/{self.trial}"

    def _summary(self) -> dict[str, Any]:
        return {"trial": self.id, "parameters": self.parameters, "metric": self.metric_value,
                "state": self.state if self.cause in (None, self.state) else f"{self.state}: {self.cause}",
                "step": self.step, "message": self.message or self.waiting}


@dataclass(frozen=True)
class Attempt:
    """A gang's try at a trial; ``reason`` explains its placement."""

    attempt: int
    workers: list[str]
    started_at: datetime.datetime | None
    running_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    resumed_step: int
    last_step: int
    cause: str | None
    message: str
    reason: str
    rank: int | None
    """The rank whose end decided; None: none."""


@dataclass(frozen=True)
class Takeover:
    """A member of a population copied another one: it goes on with that trial's weights."""

    attempt: int
    """The last attempt with its own weights."""
    share: int
    step: int
    from_trial: int
    taken: dict[str, Value]
    """The values of the other trial."""
    now: dict[str, Value]
    """The values that it goes on with."""
    reason: str


@dataclass(frozen=True)
class Explanation:
    """Why a trial waits, or what happened to it, attempt by attempt."""

    trial: Trial
    explanation: str
    attempts: list[Attempt]
    takeovers: list[Takeover]
    """For a member of a population, in order of decision."""


@dataclass(frozen=True)
class Description:
    """An experiment with its file, and the value of every field, from the file or a default."""

    experiment: Experiment
    file_name: str
    file_text: str
    parameters: dict[str, list[Value] | dict[str, Value]]
    """The swept parameters by path: values, or the range that they are drawn from (min, max, scale, step)."""
    configuration: Mapping[str, Any]
    """Sections and fields as in the file, with defaults: ``["optimizer"]["lr"]``."""


@dataclass(frozen=True)
class Worker:
    worker: str
    host: str
    device: str
    device_name: str
    state: str
    """idle, busy, draining, drained, quarantined or lost."""
    doing: str
    """Such as "12/3#2 rank 0"."""
    silence_seconds: float
    program_version: str
    storage_id: str
    peer: str
    labels: dict[str, str]
    mark: str
    """Such as "drained by ann: new disk"."""
    gpu_uuid: str = ""
    """As in NVIDIA's tools and DCGM's exporter."""


@dataclass(frozen=True)
class Quota:
    """The number of slots that the experiments of a user, or those with a label, may hold at once."""

    user: str
    label: str
    """Set if `user` is not; such as "team=vision"."""
    slots: int
    held: int
    set_by: str


@dataclass(frozen=True)
class LogLine:
    """A line of a trainer's output. ``dropped_lines`` were dropped after it."""

    attempt: int
    rank: int
    time: datetime.datetime | None
    text: str
    dropped_lines: int = 0


@dataclass(frozen=True)
class Status:
    """The coordinator's version and addresses."""

    program_version: str
    program_revision: str
    journal_id: str
    http_address: str
    started_at: datetime.datetime | None
    experiments: int
    workers: int
