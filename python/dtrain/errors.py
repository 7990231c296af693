"""The errors, by what the caller can do about them. Every message names the thing, the value and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence


class DtrainError(Exception):
    """The base of all errors of this package."""


class UsageError(DtrainError, ValueError):
    """An argument, a setting or a request is wrong; nothing was done."""


class UnreachableError(DtrainError, ConnectionError):
    """No coordinator answers, or not in time: start it, correct the address, or try again."""


class BusyError(DtrainError):
    """The coordinator takes no more work now: try again."""


class NotFoundError(DtrainError, LookupError):
    """There is no such experiment, trial, rank or context."""


class NotAllowedError(DtrainError, PermissionError):
    """The coordinator does not let this client do it."""


class ConflictError(DtrainError):
    """Not possible in this state, such as deleting an experiment that runs."""


class UnexpectedError(DtrainError):
    """The coordinator failed in an unexpected way, or is of another version."""


class WaitTimeoutError(DtrainError, TimeoutError):
    """`Client.wait` gave up; the experiment goes on."""


@dataclass(frozen=True)
class Diagnostic:
    """An error in an experiment file (``severity == "error"``), or a setting that is hardly intended (``"warning"``).

    ``line`` and ``column`` count from 1 and are None if the finding is about no place in the file.
    """

    severity: str
    file: str
    line: int | None
    column: int | None
    path: str
    code: str
    message: str
    hint: str
    source_line: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"
        hint = f"; {self.hint}" if self.hint else ""
        text = f"{place}: {self.severity}: {self.message}{hint}"
        if self.source_line and self.line is not None:
            text += f"\n{self.line:5d} | {self.source_line}"
        return text


class SubmitWarning(UserWarning):
    """An experiment was taken, but something in it is hardly intended."""


class FileRefusedError(UsageError):
    """The experiment has errors; ``diagnostics`` lists all of them. Nothing was submitted.

    >>> raise FileRefusedError([Diagnostic("error", "grid.yaml", 7, 3, "train.batchsize", "unknown_key",
    ...                                    "unknown key 'train.batchsize'", "did you mean 'train.batch_size'?")])
    Traceback (most recent call last):
    dtrain.errors.FileRefusedError: 1 error in the experiment; nothing was submitted:
    grid.yaml:7:3: error: unknown key 'train.batchsize'; did you mean 'train.batch_size'?
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        count = len(self.diagnostics)
        lines = [f"{count} error{'' if count == 1 else 's'} in the experiment; nothing was submitted:"]
        super().__init__("\n".join(lines + [str(one) for one in self.diagnostics]))

    def __reduce__(self) -> tuple[type[FileRefusedError], tuple[list[Diagnostic]]]:
        """Used by pickle, which would otherwise rebuild it from its text: worker processes pass errors on this way."""
        return (FileRefusedError, (self.diagnostics,))
