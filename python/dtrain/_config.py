"""Finds the coordinator that a client talks to: arguments, DTCTL_… variables, and dtctl's file of contexts.

The order is dtctl's (docs/reference/command-line.md): the address argument, the context argument, DTCTL_ADDRESS,
DTCTL_CONTEXT, the current context, 127.0.0.1:7600.
"""

from __future__ import annotations

import json
import os
import pathlib
import pwd
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Mapping, Tuple

from . import _limits
from .errors import NotFoundError, UsageError

DEFAULT_ADDRESS = "127.0.0.1:7600"
_KEYS = ("address", "tls_ca", "tls_cert", "tls_key", "token_file")
_TOKEN = re.compile(r"dtr_[0-9a-f]{64}")
_TOKEN_FILE_BYTES = 4096
_OLD_NAME = "config.yaml"  # of dtctl up to 0.2
# The current context, and the fields of each context by its name.
Contexts = Tuple[str, Dict[str, Dict[str, str]]]


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
    """Returns the path of dtctl's file of contexts; "" where neither XDG_CONFIG_HOME nor HOME is set."""
    if environment.get("XDG_CONFIG_HOME"):
        return environment["XDG_CONFIG_HOME"] + "/dtrain/contexts.json"
    return environment["HOME"] + "/.config/dtrain/contexts.json" if environment.get("HOME") else ""


def _check(found: Any) -> Contexts:
    """Returns the content of the file with its types checked. Raises _Refused."""
    if not isinstance(found, dict):
        raise _Refused("it is not an object with 'current' and 'contexts'")
    if unknown := set(found) - {"current", "contexts"}:
        raise _Refused(f"the unknown key '{min(unknown)}'")
    current, contexts = found.get("current") or "", found.get("contexts") or {}
    if not isinstance(current, str) or not isinstance(contexts, dict):
        raise _Refused("'current' is not a text, or 'contexts' is not an object")
    for name, keys in contexts.items():
        if not isinstance(keys, dict) or not keys.get("address"):
            raise _Refused(f"context '{name}' has no address")
        for key, value in keys.items():
            if key not in _KEYS or not isinstance(value, (str, type(None))):
                raise _Refused(f"'{key}' of context '{name}' is unknown, or not a text")
    return current, {name: {key: value or "" for key, value in keys.items()} for name, keys in contexts.items()}


def parse_contexts(text: str) -> Contexts:
    """Returns the current context, "" for none, and the fields of each context. Raises _Refused."""
    try:
        return _check(json.loads(text))
    except json.JSONDecodeError as error:
        raise _Refused(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise _Refused("its values are nested too deeply") from error


def _read_contexts(path: str) -> Contexts:
    if not path:
        return "", {}
    if not os.path.exists(path):
        old = os.path.join(os.path.dirname(path), _OLD_NAME)
        if os.path.exists(old):
            raise UsageError(f"{old} has the contexts of an older dtctl, and only dtctl reads it: run 'dtctl context "
                             f"list' once, which writes {path} from it, or give an address")
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
        raise UsageError(f"{path}: {refused}; mend it, or move it away and name coordinators anew with 'dtctl context "
                         "add', or give an address") from None


def _read_token(named_by: str, path: str) -> str:
    """Returns the token in a file; `named_by` is the setting that names the file. Raises UsageError."""
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
    """Returns the content of a PEM file. Raises UsageError."""
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
