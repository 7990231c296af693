"""Parameters in the words of an objective, as messages."""

from __future__ import annotations

import math
from typing import Any, Sequence

from .errors import UsageError
from .v1 import model_pb2


class Choices:
    """A parameter as a message, and the caller's own value for each of its values."""

    def __init__(self, parameter: model_pb2.Parameter, originals: Sequence[tuple[Any, Any]]) -> None:
        self.parameter, self._originals = parameter, originals

    @staticmethod
    def of(parameter: model_pb2.Parameter) -> Choices:
        """Returns a parameter whose values need no translation."""
        return Choices(parameter, ())

    @staticmethod
    def among(name: str, choices: Sequence[Any]) -> Choices:
        """Returns a parameter that has one of the choices. Values of several types, and values of other types, such as
        None, go as text. Raises UsageError."""
        choices = list(choices)
        if not choices:
            raise UsageError(f"parameter '{name}' has no choices; give at least one")
        kinds = {type(one) for one in choices}
        plain = any(kinds <= allowed for allowed in ({bool}, {int}, {float, int}, {str}))
        sent = [one if plain else str(one) for one in choices]
        if len(set(sent)) < len(sent):
            raise UsageError(f"parameter '{name}' has a choice twice, or two that are written alike")
        return Choices(model_pb2.Parameter(path=name, values=[_value(one) for one in sent]),
                       list(zip(sent, choices)))

    def original(self, value: Any) -> Any:
        """Returns the caller's value. A value of a file's own list is returned as it is."""
        for sent, original in self._originals:
            if sent == value and isinstance(sent, bool) == isinstance(value, bool):
                return original
        return value


def float_parameter(name: str, low: float, high: float, step: float | None, log: bool) -> model_pb2.Parameter:
    """Returns a parameter of numbers. Raises UsageError."""
    low, high = float(low), float(high)
    _check(name, low, high, step, log)
    if step is not None:
        high = low + math.floor((high - low) / step + 1e-9) * step
    if low == high:
        return model_pb2.Parameter(path=name, values=[model_pb2.Value(number=low)])
    return model_pb2.Parameter(path=name, range=model_pb2.Range(min=low, max=high, scale="log" if log else "",
                                                                step=step or 0))


def int_parameter(name: str, low: int, high: int, step: int, log: bool) -> model_pb2.Parameter:
    """Returns a parameter of integers. Raises UsageError."""
    if not all(math.isfinite(one) and int(one) == one for one in (low, high, step)):
        raise UsageError(f"parameter '{name}': {low}, {high} and step {step} must be integers")
    low, high, step = int(low), int(high), int(step)
    _check(name, low, high, step if step != 1 else None, log)
    if step < 1:
        raise UsageError(f"parameter '{name}': step is {step}; give 1 or more")
    high = low + (high - low) // step * step
    if low == high:
        return model_pb2.Parameter(path=name, values=[model_pb2.Value(integer=low)])
    return model_pb2.Parameter(path=name, range=model_pb2.Range(min=low, max=high, scale="log" if log else "",
                                                                step=step))


def _check(name: str, low: float, high: float, step: float | None, log: bool) -> None:
    if not -math.inf < low <= high < math.inf:
        raise UsageError(f"parameter '{name}': low is {low} and high {high}; low must not be above high, and neither "
                         "infinite")
    if step is not None and (log or not step > 0):
        raise UsageError(f"parameter '{name}': step is {step}; it is above 0, and not with log")
    if log and not low > 0:
        raise UsageError(f"parameter '{name}': low is {low}; with log it is above 0")


def _value(value: Any) -> model_pb2.Value:
    if isinstance(value, bool):
        return model_pb2.Value(flag=value)
    if isinstance(value, int):
        return model_pb2.Value(integer=value)
    if isinstance(value, float):
        return model_pb2.Value(number=value)
    return model_pb2.Value(text=value)
