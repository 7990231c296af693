"""What a coordinator knows, as plain values: experiments, trials, checkpoints, workers.

States and causes are words ("running", "oom"), times are datetimes in UTC, and None stands for what is not known.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Mapping, Union

from ._notebook import Shown
from .errors import Diagnostic

# A parameter's value as the experiment file has it.
Value = Union[int, float, str, bool, "list[float]", None]


@dataclass(frozen=True)
class Submission(Shown):
    """What `Client.submit` and `Client.validate` return.

    ``note`` says what the submitter should know, such as that no connected worker could run it yet. ``warnings`` are
    about fields that are allowed and hardly meant.
    """

    experiment: int
    """Its number; 0 where nothing was submitted."""
    trials: int
    device: str
    note: str
    cannot_be_placed: bool
    warnings: list[Diagnostic]
    parameters: list[dict[str, Value]]
    """Of `validate`: what the first hundred trials would train with."""

    def _fragment(self) -> str:
        return f"/experiments/{self.experiment}"

    def _summary(self) -> dict[str, Any]:
        return {"experiment": self.experiment, "trials": self.trials, "device": self.device, "note": self.note}


@dataclass(frozen=True)
class PlannedTrials:
    """Trials that cost the same, as `Client.plan` tells of them; None stands for what is not known."""

    first: int
    """The number of one of them, whose parameters are here."""
    trials: int
    parameters: dict[str, Value]
    slots: int
    memory_bytes: int | None
    device_bytes: int | None
    """The least that a connected slot has."""
    target_steps: int | None
    seconds: float | None
    estimated_from: str
    fits: bool
    lacks: str


@dataclass(frozen=True)
class Plan:
    """What an experiment would take: `Client.plan`."""

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
        """Whether every trial would run."""
        return all(one.fits for one in self.configurations)


class _Ends:
    """What has a state that it may end in."""

    state: str

    @property
    def ended(self) -> bool:
        return self.state in ("finished", "failed", "cancelled")

    @property
    def succeeded(self) -> bool:
        """Whether it ended without failures; for an experiment running out of memory is none."""
        return self.state == "finished"


@dataclass(frozen=True)
class Experiment(_Ends, Shown):
    """One submitted file, and how far it is.

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
    """Of the failed ones, those that ran out of memory, which is a result."""
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
    """Where the coordinator holds it: what to put right; empty where a person paused it."""
    waiting: str = ""
    """Of one that was asked for alone: why nothing of it runs."""

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
    """None in `Trial.last_checkpoint`, which does not tell."""
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
    """One configuration of an experiment.

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
    """What its program's reports lack: that there are none, which printed line was nearly one, what is left out."""
    parameters: dict[str, Value]
    attempts: int
    step: int
    target_steps: int | None
    loss: float | None
    """Of the newest logged step."""
    val_loss: float | None
    best_val_loss: float | None
    best_val_step: int | None
    metric_value: float | None
    """Of the experiment's search metric, the best."""
    metric_step: int | None
    """Whose evaluation gave it."""
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
    """Which build trained it, where: program_version, torch_version, device_name, host, …"""
    last_checkpoint: Checkpoint | None
    started_at: datetime.datetime | None
    ended_at: datetime.datetime | None
    training_seconds: float | None = None
    """In which it trained, with evaluations and checkpoints; waits are no part of it."""

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
    """One gang's try at a trial; ``reason`` says why it was placed where it was."""

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
    """Whose end decided; None: nobody's."""


@dataclass(frozen=True)
class Takeover:
    """What a member of a population took over: it goes on with another trial's weights."""

    attempt: int
    """The last with its own weights."""
    share: int
    step: int
    from_trial: int
    taken: dict[str, Value]
    """What the other had there."""
    now: dict[str, Value]
    """What it goes on with."""
    reason: str


@dataclass(frozen=True)
class Explanation:
    """Why a trial waits, or what happened to it, attempt by attempt."""

    trial: Trial
    explanation: str
    attempts: list[Attempt]
    takeovers: list[Takeover]
    """Of a member of a population, in order of decision."""


@dataclass(frozen=True)
class Description:
    """An experiment with its file, and everything that the file and the defaults set."""

    experiment: Experiment
    file_name: str
    file_text: str
    parameters: dict[str, list[Value] | dict[str, Value]]
    """What is swept, by path: values, or the range that they are drawn from (min, max, scale, step)."""
    configuration: Mapping[str, Any]
    """Sections and fields as in the file, defaults filled in: ``["optimizer"]["lr"]``."""


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
    """As NVIDIA's tools and DCGM's exporter name it."""


@dataclass(frozen=True)
class Quota:
    """How many slots the experiments of a user, or those with a label, may hold at once."""

    user: str
    label: str
    """One of the two; such as "team=vision"."""
    slots: int
    held: int
    set_by: str


@dataclass(frozen=True)
class LogLine:
    """A line that a trainer wrote. ``dropped_lines`` were left out behind it."""

    attempt: int
    rank: int
    time: datetime.datetime | None
    text: str
    dropped_lines: int = 0


@dataclass(frozen=True)
class Status:
    """What the coordinator says of itself."""

    program_version: str
    program_revision: str
    journal_id: str
    http_address: str
    started_at: datetime.datetime | None
    experiments: int
    workers: int
