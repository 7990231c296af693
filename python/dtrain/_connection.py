"""The connection: one gRPC channel, calls with a deadline, and errors in words."""

from __future__ import annotations

import re
import ssl
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import grpc

from . import _limits
from ._config import Coordinator, TlsFiles, read_pem
from .errors import (BusyError, ConflictError, DtrainError, NotAllowedError, NotFoundError, UnexpectedError,
                     UnreachableError, UsageError)
from .v1 import control_pb2_grpc

_OPTIONS = [
    ("grpc.max_receive_message_length", _limits.MESSAGE_BYTES),
    ("grpc.max_send_message_length", _limits.MESSAGE_BYTES),
    # A dead coordinator is detected in eight seconds; it allows a ping every four.
    ("grpc.keepalive_time_ms", 5000),
    ("grpc.keepalive_timeout_ms", 3000),
    # Clients of one process do not wait out each other's failures to connect.
    ("grpc.use_local_subchannel_pool", 1),
    # The first try to reconnect comes soon: a coordinator restarts in a second.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5000),
    # A web proxy is not meant for a coordinator on this host or in this cluster.
    ("grpc.enable_http_proxy", 0),
]
# The beginning of the answer of a coordinator that waits for its turn (common/net/standby.h).
_STANDBY_SAYS = "this coordinator is a standby: "
_BY_CODE: dict[grpc.StatusCode, type[DtrainError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: UsageError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.ALREADY_EXISTS: ConflictError,
    grpc.StatusCode.FAILED_PRECONDITION: ConflictError,
    grpc.StatusCode.ABORTED: ConflictError,
    grpc.StatusCode.PERMISSION_DENIED: NotAllowedError,
    grpc.StatusCode.UNAUTHENTICATED: NotAllowedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: BusyError,
}


def is_local(address: str) -> bool:
    """Returns whether no packet leaves the host, by the programs' rule (common/net/credentials.h)."""
    text = address.lower()
    if text.startswith(("unix:", "unix-abstract:")):
        return True
    host = text.rpartition(":")[0]
    return host in ("localhost", "[::1]", "::1") or re.fullmatch(r"127\.[0-9.]*", host) is not None


def _credentials(tls: TlsFiles, address: str) -> grpc.ChannelCredentials | None:
    """Returns what TLS needs; None without TLS, which only an address on this host allows. Raises UsageError."""
    if not tls:
        if not is_local(address):
            raise UsageError(f"address '{address}' is not on this host, and without TLS only loopback and unix: "
                             "addresses are allowed; give tls_ca, tls_cert and tls_key")
        return None
    if not (tls.ca and tls.cert and tls.key):
        raise UsageError("mutual TLS needs all of tls_ca, tls_cert and tls_key; give the missing ones or none")
    ca, cert, key = read_pem("tls_ca", tls.ca), read_pem("tls_cert", tls.cert), read_pem("tls_key", tls.key)
    try:  # gRPC would take any two files, then close the connection without a reason
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(tls.cert, tls.key, password="")
    except (ssl.SSLError, OSError) as error:
        raise UsageError(f"tls_key {tls.key} is not the key of the certificate tls_cert {tls.cert} ({error}); give the "
                         "two of one pair") from error
    return grpc.ssl_channel_credentials(ca, key, cert)


def _unreachable_hint(text: str, tls: bool) -> str:
    """Returns what to do about an error of gRPC, by its text."""
    if "Peer name" in text or "Hostname Verification" in text:
        return ("dial a name or address that the coordinator's certificate has; 'openssl x509 -noout -ext "
                "subjectAltName -in FILE' prints them")
    if "andshake" in text or "SSL" in text:
        return "check tls_ca, tls_cert and tls_key against the coordinator's"
    if "HTTP/2" in text:
        return "something else listens there; dtcoord's --listen address is wanted, not its --http"
    if "Socket closed" in text or "Connection reset" in text:
        if tls:
            return ("it closed the connection: check tls_ca, tls_cert and tls_key against the coordinator's, and that "
                    "it has TLS at all")
        return ("something there closed the connection: if the coordinator has TLS, give tls_ca, tls_cert and "
                "tls_key")
    return "start one on this machine with 'dtctl up', or give another address or context"


def _dial(tls: TlsFiles, address: str) -> grpc.Channel:
    """Returns a channel to an address, which connects at its first call. Raises UsageError."""
    if not re.fullmatch(r"unix(-abstract)?:.+|.*[^:]:[0-9]+|\[.*\]:[0-9]+", address):
        raise UsageError(f"address '{address}' is not host:port, [v6]:port or unix:/path")
    credentials = _credentials(tls, address)
    if credentials is None:
        return grpc.insecure_channel(address, _OPTIONS)
    return grpc.secure_channel(address, credentials, _OPTIONS)


class Connection:
    """Calls of the coordinator's Control service. Threads may share an object."""

    def __init__(self, coordinator: Coordinator, timeout: float) -> None:
        if not 0 < timeout <= _limits.CALL_SECONDS_MAX:
            raise UsageError(f"timeout is {timeout}; it must be above 0 and at most "
                             f"{_limits.CALL_SECONDS_MAX:.0f} seconds")
        self._addresses = coordinator.address.split(",")
        if len(self._addresses) > _limits.COORDINATOR_ADDRESSES:
            raise UsageError(f"address '{coordinator.address}' names {len(self._addresses)} addresses; at most "
                             f"{_limits.COORDINATOR_ADDRESSES} may be given")
        self.coordinator = coordinator
        self._timeout = timeout
        self._channels = [_dial(coordinator.tls, address) for address in self._addresses]
        self._metadata = [("authorization", f"Bearer {coordinator.token}")] if coordinator.token else None
        self._stubs = [control_pb2_grpc.ControlStub(channel) for channel in self._channels]
        self._at = 0  # the address that answered last
        self._limit = threading.local()

    def close(self) -> None:
        """Closes the channels, and ends the calls on them."""
        for channel in self._channels:
            channel.close()

    @contextmanager
    def until(self, ends: float | None) -> Iterator[None]:
        """Within it, the calls of this thread wait no longer than to `ends`, by the monotonic clock, but at least
        `_limits.CALL_SECONDS_LEAST` each."""
        before = getattr(self._limit, "ends", None)
        self._limit.ends = ends
        try:
            yield
        finally:
            self._limit.ends = before

    def call(self, method: str, request: Any) -> Any:
        """Returns the answer. Raises a DtrainError. Ctrl-C ends the call at once.

        Asks the address that answered last first, and then the others until a leader answers. If a standby answered,
        asks all of them again for a while, since one will lead soon.
        """
        patience = time.monotonic() + min(_limits.TAKEOVER_SECONDS, self._seconds())
        standby = False
        while True:
            failure = None
            for _ in self._stubs:
                at, seconds = self._at, self._seconds()
                try:
                    return self._call_once(self._stubs[at], method, request, seconds)
                except grpc.RpcError as error:
                    waits = (error.details() or "").startswith(_STANDBY_SAYS)
                    if failure is None or waits:
                        failure = self._in_words(error, self._addresses[at], seconds)
                    if error.code() != grpc.StatusCode.UNAVAILABLE:
                        raise failure from None
                    standby = standby or waits
                    self._at = (at + 1) % len(self._stubs)
            if len(self._stubs) == 1 or not standby or time.monotonic() >= patience:
                assert failure is not None
                raise failure
            time.sleep(_limits.TAKEOVER_POLL_SECONDS)

    def _call_once(self, stub: Any, method: str, request: Any, seconds: float) -> Any:
        """Returns the answer of one address, within `seconds`. Raises grpc.RpcError too."""
        start: Callable[..., Any] = getattr(stub, method).future
        try:
            future = start(request, timeout=seconds, metadata=self._metadata)
        except ValueError as error:
            raise UsageError("this client was closed; make another") from error
        try:
            return future.result()
        except grpc.FutureCancelledError:
            raise UnreachableError("the call was cancelled: the client was closed meanwhile") from None
        except BaseException:
            future.cancel()
            raise

    def _seconds(self) -> float:
        """Returns how long a call of this thread may take now."""
        ends = getattr(self._limit, "ends", None)
        if ends is None:
            return self._timeout
        return min(self._timeout, max(_limits.CALL_SECONDS_LEAST, ends - time.monotonic()))

    def _in_words(self, error: Any, where: str, seconds: float) -> DtrainError:
        """Returns the error of gRPC from the address `where`, which had `seconds`, as an error of this package."""
        code, text = error.code(), error.details() or ""
        if text.startswith(_STANDBY_SAYS):
            return UnreachableError(f"no coordinator of {self.coordinator.address} leads: at {where}, {text}; give the "
                                    "leader's address too")
        if code == grpc.StatusCode.UNAVAILABLE:
            context = f", context '{self.coordinator.context}'" if self.coordinator.context else ""
            cause = text.rpartition(": ")[2]
            return UnreachableError(f"no coordinator answers at {where}{context}{f' ({cause})' if cause else ''}; "
                                    f"{_unreachable_hint(text, bool(self.coordinator.tls))}")
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            return UnreachableError(f"the coordinator at {where} did not answer within {seconds:.3g} s; it is "
                                    "overloaded or the network is: try again")
        if code == grpc.StatusCode.UNIMPLEMENTED:
            return UnexpectedError(f"the coordinator at {where} does not know this call; compare its version, which "
                                   "'dtctl version' prints, with dtrain.__version__")
        return _BY_CODE.get(code, UnexpectedError)(text or f"the coordinator at {where} failed: {code.name}")
