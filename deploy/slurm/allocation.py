"""Decides how many allocations to ask Slurm for, and which to cancel.

Pure: observations go in, actions come out. dtrain-slurm observes and acts. Tests: tests/deploy/allocation_test.py
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bounds:
    slots: int  # workers of one allocation
    queued: int  # allocations that may wait in Slurm's queue
    running: int  # allocations that may run; queued ones count as running


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment with waiting trials. A bound of 0 means no bound."""

    pending: int  # trials
    running: int  # trials
    slots_held: int
    slots: int  # of each trial: the least that it takes
    max_concurrent: int = 0  # trials
    max_slots: int = 0  # of all its trials


@dataclasses.dataclass(frozen=True)
class Kind:
    """The kind of workers that this allocator asks for."""

    device: str  # cpu or cuda
    accelerator: str = ""  # the device's name, as far as it is known
    labels: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Job:
    id: str
    queued: bool  # otherwise it runs
    connected: int = 0  # its workers that the coordinator has seen


@dataclasses.dataclass(frozen=True)
class Decision:
    submit: int = 0
    cancel: tuple[str, ...] = ()
    reason: str = ""


def why_left_out(spec: dict, kind: Kind) -> str | None:
    """Returns why such workers do not fit trials of a specification, in the form of `dtctl describe -o json`; None:
    they fit.

    A trial that does not fit must not cause an allocation, since that would end idle and be asked for again.
    """
    resources = spec["base"]["resources"]
    if resources["device"] != kind.device:
        return f"it wants {resources['device']}, and these workers are {kind.device}"
    swept = _values(spec, "resources.accelerator")
    if swept:
        return "it sweeps resources.accelerator: submit one experiment for each kind, and run one dtrain-slurm for each"
    wanted = resources.get("accelerator") or ""
    if wanted.lower() not in kind.accelerator.lower():
        return (f"it wants the accelerator {wanted}: give --accelerator the name of the devices "
                "that sbatch's options bring")
    for key, value in _labels(resources.get("labels")):
        if (key, value) not in kind.labels:
            return f"it wants workers with the label {key}={value}: give '--label {key}={value}' in DTRAIN_WORKER_FLAGS"
    return None


def slots_of(spec: dict) -> int:
    """Returns the least slots that each of its trials takes; for the trials of a grid, the largest of these."""
    resources = spec["base"]["resources"]
    swept = _values(spec, "resources.gpus")
    return max(1, resources.get("min_gpus") or (int(max(swept)) if swept else resources["gpus"]))


def _values(spec: dict, path: str) -> list:
    """Returns the swept values of a field: all values, or the ends of a range; empty: it is not swept."""
    for parameter in spec.get("parameters") or []:
        if parameter["path"] == path:
            span = parameter.get("range")
            return [span["min"], span["max"]] if span else list(parameter["values"])
    return []


def _labels(found: dict | list | None) -> list[tuple[str, str]]:
    if isinstance(found, dict):
        return list(found.items())
    return [(one["key"], one["value"]) for one in found or []]


def demand_of(experiment: Experiment) -> int:
    """Returns the slots that its waiting trials could take now."""
    trials = experiment.pending
    if experiment.max_concurrent > 0:
        trials = min(trials, experiment.max_concurrent - experiment.running)
    if experiment.max_slots > 0:
        trials = min(trials, (experiment.max_slots - experiment.slots_held) // experiment.slots)
    return max(0, trials) * experiment.slots


def decide(experiments: list[Experiment], idle: int, jobs: list[Job], bounds: Bounds) -> Decision:
    """Decides. `idle`: connected workers without a trial, whoever started them."""
    demand = sum(demand_of(experiment) for experiment in experiments)
    queued = [job for job in jobs if job.queued]
    if demand == 0:
        reason = "no trial waits"
        return Decision(cancel=tuple(job.id for job in queued), reason=reason)
    # Workers that have not arrived yet. For a job whose workers never come, no second one is asked for.
    coming = sum(bounds.slots if job.queued else max(0, bounds.slots - job.connected) for job in jobs)
    lacking = demand - idle - coming
    found = f"trials that wait want {demand} slots; {idle} are idle and {coming} on their way"
    if lacking <= 0:
        return Decision(reason=found)
    wanted = -(-lacking // bounds.slots)
    room = min(bounds.queued - len(queued), bounds.running - len(jobs))
    submit = max(0, min(wanted, room))
    if submit < wanted:
        found += f"; {wanted} allocations are wanted, and the bounds leave room for {submit}"
    return Decision(submit=submit, reason=found)
