"""Chooses the next stage of a day on a borrowed GPU. Pure: it is given the past and the time left of the call, and runs
nothing."""

import dataclasses

# Seconds that a call keeps for writing its results.
RESERVE = 15
# A stage that the end of a call stopped this often is too long for any call.
CUTS = 2


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage. A list of stages has the most valuable first."""
    name: str
    most: int  # seconds after which it is stopped
    least: int  # with fewer seconds left it is not started
    trainer: bool = True  # needs the trainer, which has to be built first
    tries: int = 1


@dataclasses.dataclass
class Past:
    """The results of a stage so far."""
    status: str = ""  # done, failed, cut (by the end of a call); empty: not run yet
    tries: int = 0
    cuts: int = 0
    seconds: float = 0.0
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Act:
    kind: str  # run, wait (for the build), again (another call), finished
    stage: Stage | None = None
    seconds: float = 0.0  # at most


BUILT, BUILDING, BROKEN = "built", "building", "broken"


def is_open(stage: Stage, past: dict[str, Past], build: str) -> bool:
    told = past.get(stage.name, Past())
    if told.status == "done" or told.tries >= stage.tries or told.cuts >= CUTS:
        return False
    return build != BROKEN or not stage.trainer


# Exit code of a stage that continues in another call.
UNFINISHED = 75


def noted(past: Past, stage: Stage, code: int | None, bound: float, seconds: float, note: str) -> Past:
    """Returns the stage's past after another run: `code` is its exit code; None: it was stopped after `bound` seconds.
    """
    cut = code == UNFINISHED or (code is None and bound < stage.most)
    status = "done" if code == 0 else "cut" if cut else "failed"
    return Past(status, past.tries + (status == "failed"), past.cuts + cut, past.seconds + seconds, note)


def next_act(stages: list[Stage], past: dict[str, Past], build: str, left: float, whole: float) -> Act:
    """Returns the next act. `left`: seconds left of this call, which began with `whole`. A stage that does not fit lets
    others pass."""
    free, most_ever = left - RESERVE, whole - RESERVE
    ahead = [stage for stage in stages if is_open(stage, past, build)]
    if not ahead:
        return Act("finished")
    for stage in ahead:
        # In the longest possible call it is started all the same.
        fits = free >= min(stage.least, most_ever) and free > 0
        if fits and (build == BUILT or not stage.trainer):
            return Act("run", stage, min(stage.most, free))
    if build == BUILDING and free > 0:
        return Act("wait", None, free)
    return Act("again", ahead[0])
