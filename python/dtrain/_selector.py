"""Resolves "12", "12/3", "last", "last/3", an experiment's name, a number or a value of this package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Union

from . import _limits, results
from .errors import NotFoundError, UsageError

# The types that methods take for an experiment or a trial.
Selection = Union[int, str, results.Submission, results.Experiment, results.Trial]
_WRITTEN = "12, 12/3, 'last', 'last/3' or an experiment's name"


@dataclass(frozen=True)
class Selector:
    """An experiment or, with a trial above 0, one of its trials."""

    experiment: int = 0
    last: bool = False
    trial: int = 0

    def text(self) -> str:
        """Returns it as a person writes it."""
        experiment = "last" if self.last else str(self.experiment)
        return f"{experiment}/{self.trial}" if self.trial else experiment

    def into(self, request: Any) -> Any:
        """Returns the request with the fields that select the experiment and trial."""
        names = request.DESCRIPTOR.fields_by_name
        request.experiment = self.experiment
        if "last" in names:
            request.last = self.last
        if "trial" in names:
            request.trial = self.trial
        return request


def _number(text: str) -> int:
    found = int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0
    if found == 0:
        raise ValueError(text)
    return found


def _written(text: str) -> Selector:
    """Parses a selector. Raises ValueError if the text may be a name."""
    head, slash, tail = text.partition("/")
    trial = _number(tail) if slash else 0
    return Selector(last=True, trial=trial) if head == "last" else Selector(_number(head), trial=trial)


def select(chosen: Selection, named: Callable[[str], Iterable[int]]) -> Selector:
    """Returns the selector for a caller's argument; `named` finds the experiments of a name. Raises UsageError,
    NotFoundError."""
    if isinstance(chosen, results.Trial):
        return Selector(chosen.experiment, trial=chosen.trial)
    if isinstance(chosen, (results.Submission, results.Experiment)):
        chosen = chosen.experiment
    if isinstance(chosen, bool) or not isinstance(chosen, (int, str)):
        raise UsageError(f"{chosen!r} is not an experiment or a trial; give {_WRITTEN}")
    try:
        return _written(str(chosen))
    except ValueError:
        pass
    text = str(chosen)
    # "name/3": the text after the last slash is a trial if it is a number.
    name, trial = text, 0
    if match := re.fullmatch(r"(.+)/([1-9][0-9]*)", text, re.DOTALL):
        name, trial = match[1], int(match[2])
    if not name[:1].isalpha():
        raise UsageError(f"{chosen!r} is not an experiment or a trial; give {_WRITTEN}")
    found = list(named(name))
    if len(found) == 1:
        return Selector(found[0], trial=trial)
    if not found:
        raise NotFoundError(f"no experiment is named '{name}'; Client.experiments() lists them")
    shown = found[-_limits.NAMES_SHOWN:]
    more = "..., " if len(found) > len(shown) else ""
    raise UsageError(f"{len(found)} experiments are named '{name}'; give the number of one: {more}"
                     f"{', '.join(map(str, shown))}")


def select_experiment(chosen: Selection, named: Callable[[str], Iterable[int]]) -> Selector:
    selector = select(chosen, named)
    if selector.trial:
        raise UsageError(f"{_shown(chosen)} is a trial; this takes an experiment")
    return selector


def select_trial(chosen: Selection, named: Callable[[str], Iterable[int]]) -> Selector:
    selector = select(chosen, named)
    if not selector.trial:
        raise UsageError(f"{_shown(chosen)} is an experiment; this takes one of its trials, such as "
                         f"'{selector.text()}/1'")
    return selector


def _shown(chosen: Selection) -> str:
    return repr(getattr(chosen, "id", chosen))
