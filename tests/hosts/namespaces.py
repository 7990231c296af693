"""Runs a test in namespaces of its own, so that everything which it makes ends with it.

`enter()` runs the same program again as the first process of a process-id namespace, with a network, mounts and a
name of its own. When that process ends, or the one which the caller started is killed, the kernel ends all others, and
with them go their networks and mounts. No name is left behind. Without root's rights it uses a user namespace if that
is allowed.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

SKIPPED = 77  # exit code; ctest's SKIP_RETURN_CODE
INSIDE = "DTRAIN_TEST_INSIDE_NAMESPACES"
TOOLS = ("unshare", "nsenter", "setpriv", "ip", "mount")
SPACES = ("--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc")
_NET = 0x40000000  # CLONE_NEWNET
_LIBC = ctypes.CDLL(None, use_errno=True)


def _as_root() -> list[str]:
    return [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]


def why_not() -> str:
    """Returns why there can be no namespaces here, or ""."""
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"no {', '.join(missing)} on the PATH: ./dev setup installs util-linux and iproute2"
    tried = subprocess.run([*_as_root(), "unshare", *SPACES, "ip", "link", "set", "lo", "up"], capture_output=True,
                           text=True, timeout=60, check=False)
    if tried.returncode == 0:
        return ""
    rights = "root" if os.geteuid() == 0 else f"user {os.geteuid()}"
    return f"{rights} may make no namespaces here: {tried.stderr.strip() or f'unshare ended with {tried.returncode}'}"


def enter() -> None:
    """Returns inside the namespaces. Outside, exits with the code of the program inside, or is skipped."""
    if os.environ.get(INSIDE) and os.getpid() == 1:
        return
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    # setpriv comes after the user namespace, whose entry forgets the signal.
    command = [*_as_root(), "setpriv", "--pdeathsig", "KILL", "unshare", *SPACES, sys.executable, *sys.orig_argv[1:]]
    with tempfile.TemporaryDirectory(prefix="dtrain-hosts-") as folder:
        child = subprocess.Popen(command, env={**os.environ, INSIDE: "1", "TMPDIR": folder})
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: child.kill())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program inside gets it too
        code = child.wait()
    sys.exit(code if code >= 0 else 128 - code)


@contextmanager
def network_of(pid: int) -> Iterator[None]:
    """Sockets that are made in this block belong to the network of that process."""
    home, there = (os.open(f"/proc/{which}/ns/net", os.O_RDONLY) for which in ("self", pid))
    try:
        _set_network(there)
        try:
            yield
        finally:
            _set_network(home)
    finally:
        os.close(home)
        os.close(there)


def _set_network(descriptor: int) -> None:
    if _LIBC.setns(descriptor, _NET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
