"""An experiment as a caller has it, a file, its text or a dict, as what a submission carries. Nothing is read into
fields here: the coordinator does that, with the reader that dtctl has."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any, Mapping, Union

from . import _limits
from .errors import Diagnostic, UsageError

Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]


@dataclass(frozen=True)
class Text:
    """`places`: whether lines and columns in it mean something to the caller. `folder`: what it names, it names from
    there."""

    name: str
    text: str
    places: bool = True
    folder: str = ""

    def place(self, diagnostic: Diagnostic) -> Diagnostic:
        return diagnostic if self.places else replace(diagnostic, line=None, column=None, source_line="")


def _plain(value: Any) -> Any:
    """What JSON does not know: NumPy's numbers and arrays, and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _json(what: str, value: Any, indent: int | None = None) -> str:
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} cannot be written as JSON: {error}; use dicts with text keys, lists, texts, finite "
                         "numbers and booleans") from error


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(_limits.FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the file '{path}' cannot be read: {error.strerror}; check its name, or give the text of a "
                         "file, which has a line break, or a dict") from error
    try:
        # What was cut may end within a character; such a file is refused for its length.
        return content.decode("utf-8", "ignore" if len(content) > _limits.FILE_BYTES else "strict")
    except UnicodeDecodeError as error:
        raise UsageError(f"the file '{path}' is not UTF-8 at byte {error.start}; write it as UTF-8 text") from error


def read(source: Source) -> Text:
    """Raises UsageError for what is no experiment, and for a file that cannot be read."""
    if isinstance(source, Mapping):
        return Text("dict", _json("the experiment", dict(source), indent=2) + "\n", places=False)
    if isinstance(source, str) and "\n" in source:
        return Text("text", source)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return Text(path, _read(path), folder=os.path.dirname(path))
    raise UsageError(f"{source!r} is not an experiment; give the path of a file, its text, or a dict")


# The one line of a file that has to be understood here, since the folder is on this machine. Another way to write it
# is left to the coordinator, which says that no code came along.
_CODE_LINE = re.compile(r"""^code[ ]*:[ ]+(?:"(?P<double>[^"\\\n]*)"|'(?P<single>[^'\n]*)'|"""
                        r"""(?P<plain>[^\s"'&*!|>%@`{}\[\],#][^\n]*?))[ \t]*(?:[ ]\#[^\n]*)?\r?$""", re.MULTILINE)


def code_folder(source: Source, text: Text, changes: Mapping[str, Any] | None) -> str | None:
    """The folder of code that an experiment names, as a path that can be opened here. None: it names none."""
    named: Any = (changes or {}).get("code")
    if named is None and isinstance(source, Mapping):
        named = source.get("code")
    elif named is None and (line := _CODE_LINE.search(text.text)):
        named = next(one for one in line.groups() if one is not None)
    if not isinstance(named, (str, os.PathLike)) or not os.fspath(named):
        return None  # what is no text, the coordinator refuses
    return os.path.normpath(os.path.join(text.folder, os.fspath(named)))


def overrides(changes: Mapping[str, Any] | None) -> list[str]:
    """As --set of dtctl's has them: the value is YAML, which JSON is."""
    return [f"{path}={_json(path, value)}" for path, value in (changes or {}).items()]
