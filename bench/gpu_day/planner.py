"""Which stage of a day on a borrowed GPU comes next. Pure: it knows what was done and how much of the call is left, and
runs nothing."""

import dataclasses

# What a call keeps for writing its results down, of its seconds.
RESERVE = 15
# A stage that the end of a call stopped this often is too long for any call.
CUTS = 2


@dataclasses.dataclass(frozen=True)
class Stage:
    """In a list of stages the most valuable one comes first."""
    name: str
    most: int  # seconds after which it is stopped
    least: int  # it is not begun with less left
    trainer: bool = True  # needs the trainer, which is being built at first
    tries: int = 1


@dataclasses.dataclass
class Past:
    """Of a stage: what came of it so far."""
    status: str = ""  # done, failed, cut (by the end of a call); empty: nothing yet
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


# The exit code of a stage that goes on in another call.
UNFINISHED = 75


def noted(past: Past, stage: Stage, code: int | None, bound: float, seconds: float, note: str) -> Past:
    """The stage's past after another run: `code` is its exit code; None: it was stopped after `bound` seconds."""
    cut = code == UNFINISHED or (code is None and bound < stage.most)
    status = "done" if code == 0 else "cut" if cut else "failed"
    return Past(status, past.tries + (status == "failed"), past.cuts + cut, past.seconds + seconds, note)


def next_act(stages: list[Stage], past: dict[str, Past], build: str, left: float, whole: float) -> Act:
    """`left`: seconds of this call, which had `whole` at its begin. A stage that does not fit lets others pass."""
    free, most_ever = left - RESERVE, whole - RESERVE
    ahead = [stage for stage in stages if is_open(stage, past, build)]
    if not ahead:
        return Act("finished")
    for stage in ahead:
        # In the longest call that there is, it is begun all the same.
        fits = free >= min(stage.least, most_ever) and free > 0
        if fits and (build == BUILT or not stage.trainer):
            return Act("run", stage, min(stage.most, free))
    if build == BUILDING and free > 0:
        return Act("wait", None, free)
    return Act("again", ahead[0])
