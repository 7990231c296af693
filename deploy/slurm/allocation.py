"""How many allocations to ask Slurm for, and which to take back.

Pure: what was seen goes in, what to do comes out. dtrain-slurm looks and does. Tests: tests/deploy/allocation_test.py
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bounds:
    slots: int  # workers of one allocation
    queued: int  # allocations that may wait in Slurm's queue
    running: int  # allocations that may run, those in the queue counted as if they did


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One that has trials waiting. 0 of a bound: none."""

    pending: int  # trials
    running: int  # trials
    slots_held: int
    slots: int  # of each trial: the fewest that it takes
    max_concurrent: int = 0  # trials
    max_slots: int = 0  # of all its trials


@dataclasses.dataclass(frozen=True)
class Job:
    id: str
    queued: bool  # else it runs
    connected: int = 0  # workers of it that the coordinator has seen


@dataclasses.dataclass(frozen=True)
class Decision:
    submit: int = 0
    cancel: tuple[str, ...] = ()
    reason: str = ""


def demand_of(experiment: Experiment) -> int:
    """Slots that its waiting trials would take now."""
    trials = experiment.pending
    if experiment.max_concurrent > 0:
        trials = min(trials, experiment.max_concurrent - experiment.running)
    if experiment.max_slots > 0:
        trials = min(trials, (experiment.max_slots - experiment.slots_held) // experiment.slots)
    return max(0, trials) * experiment.slots


def decide(experiments: list[Experiment], idle: int, jobs: list[Job], bounds: Bounds) -> Decision:
    """`idle`: connected workers without a trial, whoever started them."""
    demand = sum(demand_of(experiment) for experiment in experiments)
    queued = [job for job in jobs if job.queued]
    if demand == 0:
        reason = "no trial waits"
        return Decision(cancel=tuple(job.id for job in queued), reason=reason)
    # Workers that are not there yet. Of a job whose workers never come, none is asked for twice.
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
