"""The client: dtctl's commands as methods. Each part of it is in the module of its subject."""

from __future__ import annotations

import os

from . import _config, _limits
from ._connection import Connection
from ._measurements import Measurements
from ._studies import Studies
from ._waits import Until, Waits
from .errors import SubmitWarning

__all__ = ["Client", "SubmitWarning", "Until"]


class Client(Studies, Measurements, Waits):
    """A connection to a coordinator.

    Without arguments it connects to dtctl's coordinator: ``DTCTL_ADDRESS``, ``DTCTL_CONTEXT``, the current context of
    ``~/.config/dtrain/contexts.json``, or ``127.0.0.1:7600``. A client may be shared by threads, and is a context
    manager that closes it.

    >>> client = Client()
    >>> client = Client(context="lab")                # a name of `dtctl context add`
    >>> client = Client("alpha.example:7600", tls_ca="ca.crt", tls_cert="desk.crt", tls_key="desk.key")

    Args:
        address: ``host:port`` or ``unix:/path``.
        context: the name of a coordinator, whose TLS files are then used with any address.
        tls_ca, tls_cert, tls_key: PEM files for mutual TLS: all three, or none.
        token_file: the file with your token, if the coordinator requires one.
        timeout: seconds for each call, at most 60.

    To select an experiment or trial, methods take its number (``12``), ``"12/3"``, ``"last"``, ``"last/3"``, the name
    of an experiment, or another method's result. Every method raises a `DtrainError`.
    """

    def __init__(self, address: str | None = None, *, context: str | None = None, tls_ca: str | None = None,
                 tls_cert: str | None = None, tls_key: str | None = None, token_file: str | None = None,
                 timeout: float = _limits.CALL_SECONDS) -> None:
        files = _config.TlsFiles(*(os.fspath(path) if path else "" for path in (tls_ca, tls_cert, tls_key)))
        self._connection = Connection(_config.choose(address, context, files, os.environ,
                                                      os.fspath(token_file) if token_file else ""), timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __repr__(self) -> str:
        context = f", context={self.context!r}" if self.context else ""
        return f"dtrain.Client({self.address!r}{context})"

    @property
    def address(self) -> str:
        """The coordinator's address."""
        return self._connection.coordinator.address

    @property
    def context(self) -> str:
        """The source of the address; "" if it was given as an argument."""
        return self._connection.coordinator.context

    def close(self) -> None:
        """Ends the connection; experiments go on."""
        self._connection.close()
