"""Turns an experiment in any form, a file, its text or a dict, into the content of a submission. Fields are not parsed
here: the coordinator does that, with dtctl's parser."""

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
    """The text of an experiment. ``places``: the caller knows its lines and columns. ``folder``: its paths are relative
    to this folder.
    """

    name: str
    text: str
    places: bool = True
    folder: str = ""

    def place(self, diagnostic: Diagnostic) -> Diagnostic:
        """Returns the diagnostic, without line and column if the caller does not know them."""
        return diagnostic if self.places else replace(diagnostic, line=None, column=None, source_line="")


def _plain(value: Any) -> Any:
    """Converts values that JSON does not know: NumPy's numbers and arrays, and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _json(what: str, value: Any, indent: int | None = None) -> str:
    """Returns a value as JSON. Raises UsageError that names it as `what`."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} cannot be written as JSON: {error}; use dicts with text keys, lists, texts, finite "
                         "numbers and booleans") from error


def _read(path: str) -> str:
    """Returns the text of a file. Raises UsageError."""
    try:
        with open(path, "rb") as file:
            content = file.read(_limits.FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the file '{path}' cannot be read: {error.strerror}; check its name, or give the text of a "
                         "file, which has a line break, or a dict") from error
    try:
        # The cut may lie within a character; such a file is refused for its length.
        return content.decode("utf-8", "ignore" if len(content) > _limits.FILE_BYTES else "strict")
    except UnicodeDecodeError as error:
        raise UsageError(f"the file '{path}' is not UTF-8 at byte {error.start}; write it as UTF-8 text") from error


def read(source: Source) -> Text:
    """Reads an experiment. Raises UsageError for anything else, and for a file that cannot be read."""
    if isinstance(source, Mapping):
        return Text("dict", _json("the experiment", dict(source), indent=2) + "\n", places=False)
    if isinstance(source, str) and "\n" in source:
        return Text("text", source)
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return Text(path, _read(path), folder=os.path.dirname(path))
    raise UsageError(f"{source!r} is not an experiment; give the path of a file, its text, or a dict")


# The only line of a file that has to be parsed here, since the folder is on this machine. Other spellings are left
# to the coordinator, which reports that no code came along.
_CODE_LINE = re.compile(r"""^code[ ]*:[ ]+(?:"(?P<double>[^"\\\n]*)"|'(?P<single>[^'\n]*)'|"""
                        r"""(?P<plain>[^\s"'&*!|>%@`{}\[\],#][^\n]*?))[ \t]*(?:[ ]\#[^\n]*)?\r?$""", re.MULTILINE)


# The same line with files that should be packed although git ignores them: code: {folder: ., include: [data/*.bin]}.
_CODE_MAP = re.compile(r"^code[ ]*:[ ]+\{(?P<map>[^{}\n]*)\}[ \t]*(?:[ ]\#[^\n]*)?\r?$", re.MULTILINE)
_MAP_FOLDER = re.compile(r"""(?:^|,)[ ]*folder[ ]*:[ ]+["']?(?P<folder>[^"',\]]+?)["']?[ ]*(?:,|$)""")
_MAP_INCLUDE = re.compile(r"(?:^|,)[ ]*include[ ]*:[ ]+\[(?P<include>[^\]]*)\]")
_INCLUDE_LINE = re.compile(r"^code_include[ ]*:[ ]+\[(?P<include>[^\]\n]*)\][ \t]*(?:[ ]\#[^\n]*)?\r?$", re.MULTILINE)


def _words(listed: str) -> list[str]:
    """Returns the entries of a list, without their quotes."""
    return [one.strip().strip("\"'") for one in listed.split(",") if one.strip()]


def _code_of(text: str) -> tuple[Any, list[str]]:
    """Returns the folder of code and the patterns that a file's text names."""
    if found := _CODE_MAP.search(text):
        folder = _MAP_FOLDER.search(found["map"])
        include = _MAP_INCLUDE.search(found["map"])
        return (folder["folder"] if folder else None), (_words(include["include"]) if include else [])
    line = _CODE_LINE.search(text)
    include = _INCLUDE_LINE.search(text)
    return (next(one for one in line.groups() if one is not None) if line else None,
            _words(include["include"]) if include else [])


def _code(source: Source, text: Text, changes: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """Returns the folder of code and the patterns that an experiment names, after the caller's overrides."""
    check_overrides(changes)
    given: Mapping[str, Any] = changes or {}
    named, patterns = given.get("code"), given.get("code_include")
    if named is None:
        named, listed = ((source.get("code"), source.get("code_include")) if isinstance(source, Mapping)
                         else _code_of(text.text))
        patterns = listed if patterns is None else patterns
    if isinstance(named, Mapping):
        return named.get("folder"), named.get("include", patterns)
    return named, patterns


def code_folder(source: Source, text: Text, changes: Mapping[str, Any] | None) -> str | None:
    """Returns the folder of code that an experiment names, as a path that can be opened here; None without one."""
    named, _ = _code(source, text, changes)
    if not isinstance(named, (str, os.PathLike)) or not os.fspath(named):
        return None  # the coordinator refuses other types
    return os.path.normpath(os.path.join(text.folder, os.fspath(named)))


def code_include(source: Source, text: Text, changes: Mapping[str, Any] | None) -> list[str]:
    """Returns the patterns of files in the folder of code that are packed although git ignores them."""
    _, patterns = _code(source, text, changes)
    return [one for one in patterns if isinstance(one, str)] if isinstance(patterns, (list, tuple)) else []


# The file of environment.uv or environment.conda, which travels although git ignores it: in one line, or below
# `environment:`.
_UV = (r"(?P<kind>uv|conda)[ ]*:[ ]+"
       r"""(?:"(?P<double>[^"\\\n]*)"|'(?P<single>[^'\n]*)'|(?P<plain>[^\s"'\[{][^"',}\n]*?))[ \t]*""")
_NOT_UV = r"(?:[ ]+[^\s#][^\n]*\n|[ \t]*(?:\#[^\n]*)?\r?\n)*?"
_UV_FORMS = (re.compile(r"^environment[ ]*:[ ]+\{(?:[^{}\n]*,)?[ ]*" + _UV + r"[,}]", re.MULTILINE),
             re.compile(r"^environment[ ]*:[ \t]*(?:\#[^\n]*)?\r?\n" + _NOT_UV + r"[ ]+" + _UV +
                        r"(?:[ ]\#[^\n]*)?\r?$", re.MULTILINE))
_ENVIRONMENT_FILES = (".lock", ".toml", ".txt", ".in")


def environment_files(source: Source, text: Text, changes: Mapping[str, Any] | None) -> list[str]:
    """Returns the file of packages that an experiment names, relative to its folder of code, and the pyproject.toml
    that a uv.lock belongs to."""
    kind, named = "uv", (changes or {}).get("environment.uv")
    if (changes or {}).get("environment.conda") is not None:
        kind, named = "conda", (changes or {})["environment.conda"]
    if named is None and isinstance(source, Mapping):
        section = source.get("environment")
        if isinstance(section, Mapping):
            kind = "conda" if section.get("conda") is not None else "uv"
            named = section.get(kind)
    elif named is None:
        if found := next((each for form in _UV_FORMS if (each := form.search(text.text))), None):
            kind = found["kind"]
            named = next((found[form] for form in ("double", "single", "plain") if found[form] is not None), None)
    if isinstance(named, (list, tuple)) and len(named) == 1:
        named = named[0]
    if not isinstance(named, (str, os.PathLike)) or not os.fspath(named):
        return []
    if kind == "uv" and not os.fspath(named).endswith(_ENVIRONMENT_FILES):
        return []
    file = os.path.normpath(os.fspath(named))
    if os.path.isabs(file) or file.startswith(".."):
        return []  # the coordinator refuses it
    beside = os.path.join(os.path.dirname(file), "pyproject.toml")
    return [file, beside] if os.path.basename(file) == "uv.lock" else [file]


def check_overrides(changes: Mapping[str, Any] | None) -> None:
    """Raises UsageError unless the overrides are a dict, or absent."""
    if changes is not None and not isinstance(changes, Mapping):
        raise UsageError(f"overrides are {changes!r}; give a dict of fields and values, such as "
                         "{'train.max_steps': 100}")


def overrides(changes: Mapping[str, Any] | None) -> list[str]:
    """Returns overrides in the form of dtctl's --set: the value is YAML, and JSON is YAML."""
    check_overrides(changes)
    return [f"{path}={_json(path, value)}" for path, value in (changes or {}).items()]
