"""Finds the coordinator that a client talks to: arguments, DTCTL_… variables, and dtctl's file of contexts.

The order is dtctl's (docs/reference/command-line.md): the address argument, the context argument, DTCTL_ADDRESS,
DTCTL_CONTEXT, the current context, 127.0.0.1:7600.
"""

from __future__ import annotations

import os
import pathlib
import pwd
import re
from dataclasses import dataclass, field, replace
from typing import Mapping

from . import _limits
from .errors import NotFoundError, UsageError

DEFAULT_ADDRESS = "127.0.0.1:7600"
_KEYS = ("address", "tls_ca", "tls_cert", "tls_key", "token_file")
_TOKEN = re.compile(r"dtr_[0-9a-f]{64}")
_TOKEN_FILE_BYTES = 4096
_ENTRY = re.compile(r"( *)((?:[^\s\"'#:{}\[\],&*!|>%@`]|:(?=\S))+) *:(?: +(.*))?$")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "/": "/"}


@dataclass(frozen=True)
class TlsFiles:
    """Paths of PEM files: the authority to trust, the client's certificate, and its key. All three, or none."""

    ca: str = ""
    cert: str = ""
    key: str = ""

    def __bool__(self) -> bool:
        return bool(self.ca or self.cert or self.key)


@dataclass(frozen=True)
class Coordinator:
    """Where to connect, and the context that named it ("": none did)."""

    address: str
    tls: TlsFiles = field(default_factory=TlsFiles)
    context: str = ""
    token: str = field(default="", repr=False)


class _Refused(Exception):
    """An error in the file, without the file's name."""


def contexts_path(environment: Mapping[str, str]) -> str:
    if environment.get("XDG_CONFIG_HOME"):
        return environment["XDG_CONFIG_HOME"] + "/dtrain/config.yaml"
    return environment["HOME"] + "/.config/dtrain/config.yaml" if environment.get("HOME") else ""


def _double_quoted(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code in _ESCAPES:
            return _ESCAPES[code]
        raise _Refused(f"the escape \\{code}")

    return re.sub(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", read, text)


def _scalar(text: str) -> str:
    """Returns a value, without the comment after it. Raises _Refused unless it is plain or quoted text."""
    if match := re.fullmatch(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?', text):
        return _double_quoted(match[1])
    if match := re.fullmatch(r"'((?:[^']|'')*)'\s*(?:#.*)?", text):
        return match[1].replace("''", "'")
    plain = re.sub(r"\s#.*$", "", text).strip()
    if not plain or plain[0] in "\"'{}[]&*!|>%@`#," or plain[:2] in ("- ", "? ") or ": " in plain:
        raise _Refused(f"'{text.strip()}', which is not a plain or quoted text")
    return plain


def _entries(text: str) -> list[tuple[int, int, str, str | None]]:
    """Returns (line, indent, key, value or None) for each line with content. Raises _Refused."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#") or line.rstrip() == "---":
            continue
        match = _ENTRY.match(line.rstrip())
        if match is None:
            raise _Refused(f"line {number}: '{line.strip()}' is not 'key: value'")
        value = (match[3] or "").strip()
        try:
            empty = not value or value.startswith("#") or value.split("#")[0].strip() == "{}"
            entries.append((number, len(match[1]), match[2], None if empty else _scalar(value)))
        except _Refused as refused:
            raise _Refused(f"line {number}: {refused}") from None
    return entries


def parse_contexts(text: str) -> tuple[str, dict[str, dict[str, str]]]:
    """Returns the current context, "" for none, and the fields of each context. It reads the block form that dtctl
    writes, and refuses every other form of YAML. Raises _Refused."""
    current = ""
    contexts: dict[str, dict[str, str]] = {}
    inside, margins = False, [0]
    for line, indent, key, value in _entries(text):
        deepest = margins[-1]
        while indent < margins[-1]:
            margins.pop()
        if indent > margins[-1]:
            if deepest > indent:
                raise _Refused(f"line {line}: its indent fits no line above")
            margins.append(indent)
        depth = len(margins) - 1
        if depth == 0:
            inside = key == "contexts" and value is None
            if key == "current":
                current = value or ""
            elif not inside:
                raise _Refused(f"line {line}: the unknown key '{key}'")
        elif depth == 1 and inside and value is None:
            contexts[key] = {}
        elif depth == 2 and contexts and key in _KEYS and value is not None:
            contexts[list(contexts)[-1]][key] = value
        else:
            raise _Refused(f"line {line}: '{key}' has no place there")
    for name, keys in contexts.items():
        if not keys.get("address"):
            raise _Refused(f"context '{name}' has no address")
    return current, contexts


def _read_contexts(path: str) -> tuple[str, dict[str, dict[str, str]]]:
    if not path or not os.path.exists(path):
        return "", {}
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_limits.CONTEXTS_BYTES + 1)
        if len(text) > _limits.CONTEXTS_BYTES:
            raise _Refused(f"it has more than {_limits.CONTEXTS_BYTES} bytes")
        return parse_contexts(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}; give an address, or mend the file") from error
    except _Refused as refused:
        raise UsageError(f"{path}: {refused}; this client reads the file as dtctl writes it: name the coordinator anew "
                         "with 'dtctl context add', or give an address") from None


def _read_token(named_by: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_TOKEN_FILE_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{named_by}: {path} cannot be read: {error}; name the file that 'dtctl token create' printed "
                         "its token into") from error
    if not _TOKEN.fullmatch(text):
        raise UsageError(f"{named_by}: {path} does not hold a token, which is dtr_ and 64 hex digits; make one with "
                         "'dtctl token create'")
    return text


def choose(address: str | None, context: str | None, tls: TlsFiles, environment: Mapping[str, str],
           token_file: str = "") -> Coordinator:
    """Returns the coordinator to use. Raises UsageError, and NotFoundError for an unknown context."""
    given = address or ("" if context else environment.get("DTCTL_ADDRESS", ""))
    name = context or ("" if given else environment.get("DTCTL_CONTEXT", ""))
    found = Coordinator(DEFAULT_ADDRESS)
    of: Mapping[str, str] = {}
    if name or not given:
        path = contexts_path(environment)
        current, contexts = _read_contexts(path)
        name = name or current
        if name:
            if name not in contexts:
                hint = f"choose one of: {', '.join(contexts)}" if contexts else "add it with 'dtctl context add'"
                raise NotFoundError(f"there is no context '{name}' in {path}; {hint}")
            of = contexts[name]
            files = TlsFiles(of.get("tls_ca", ""), of.get("tls_cert", ""), of.get("tls_key", ""))
            found = Coordinator(of["address"], files, name)
    variables = TlsFiles(*(environment.get(f"DTCTL_TLS_{word}", "") for word in ("CA", "CERT", "KEY")))
    if given:
        found = replace(found, address=given, context="")
    # A context's files are used with its own address, or if the context was named explicitly.
    variable = "" if context else environment.get("DTRAIN_TOKEN_FILE", "")
    for named_by, file in (("token_file", token_file), ("DTRAIN_TOKEN_FILE", variable),
                           (f"token_file of context '{name}'", of.get("token_file", ""))):
        if file:
            found = replace(found, token=_read_token(named_by, file))
            break
    if tls:
        return replace(found, tls=tls)
    return replace(found, tls=variables) if variables and not context else found


def read_pem(argument: str, path: str) -> bytes:
    try:
        content = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{argument} {path} cannot be read: {error.strerror}; give a PEM file that this user may "
                         "read") from error
    if b"-----BEGIN " not in content:
        raise UsageError(f"{argument} {path}: not a PEM file; give a PEM file that this user may read")
    return content


def who() -> str:
    """Returns the person's user name on this machine, as dtctl does."""
    named = os.environ.get("USER", "")
    if not named:
        # Containers and service managers may set none.
        try:
            named = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            return ""
    return named.encode(errors="replace").decode(errors="replace")
