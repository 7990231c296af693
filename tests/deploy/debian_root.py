"""A Debian of its own in a folder, for tests that install packages: made once, unpacked for each, and booted.

Needs root's rights, mmdebstrap, systemd-nspawn and a package source. Leaving the `with` block ends what runs in it and
removes it; nspawn's mounts are in a namespace of its own and go with it.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402

RELEASE = "bookworm"
SECONDS = 600


def why_not(*programs: str) -> str | None:
    """What is missing here, or None."""
    if os.geteuid() != 0:
        return "it installs packages into a root folder, which takes root's rights"
    missing = [program for program in programs if shutil.which(program) is None]
    packages = {"systemd-nspawn": "systemd-container", "ip": "iproute2", "cpack": "cmake",
                "dpkg-shlibdeps": "dpkg-dev", "unshare": "util-linux", "nsenter": "util-linux"}
    if missing:
        listed = ", ".join(f"{one} (package {packages.get(one, one)})" for one in missing)
        return f"missing: {listed}; ./dev setup --house"
    return None


def run(*command: str | pathlib.Path, seconds: float = SECONDS, **more) -> str:
    """Its standard output; an AssertionError with all that it said where it fails."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False, **more)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-6000:]
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{said}")
    return done.stdout


def make_base(tar: pathlib.Path, packages: list[str]) -> None:
    """A root of Debian's required packages and these, from the package source that mmdebstrap takes by itself."""
    include = [f"--include={','.join(packages)}"] if packages else []
    run("mmdebstrap", "--variant=minbase", *include, RELEASE, tar)


def children(pid: int) -> list[int]:
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def end_container(process: subprocess.Popen) -> None:
    """One that `unshare --kill-child` started: process 1 goes too, and with it all of its name space."""
    if process.poll() is None:
        process.kill()
    process.wait(30)


def stand_still(pid: int) -> None:
    """By SIGSTOP, which a thread may take later than another."""
    os.kill(pid, signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{pid}/task")

    def stopped() -> bool:
        try:
            return all("State:\tT" in (task / "status").read_text() for task in tasks.iterdir())
        except FileNotFoundError:
            return False  # a thread has just ended

    until(f"process {pid} stands still", stopped)


def grow_old(pid: int, file: str, seconds: float) -> None:
    """Makes a file, named as that process has it, so old."""
    past = time.time() - seconds
    os.utime(f"/proc/{pid}/root{file}", (past, past))


class DebianRoot:
    def __init__(self, folder: pathlib.Path, base: pathlib.Path, shared: pathlib.Path):
        """`shared` is /srv/shared inside, and keeps downloaded packages for the next root."""
        self.path = folder / "root"
        self.shared = shared
        self.nspawn: subprocess.Popen | None = None
        self.leader = 0
        self.path.mkdir()
        (shared / "archives/partial").mkdir(parents=True, exist_ok=True)
        run("tar", "-C", self.path, "-xf", base)
        self.console = folder / "console.log"

    def __enter__(self) -> "DebianRoot":
        return self

    def __exit__(self, failure, *unused) -> None:
        if failure is not None and self.console.exists():
            print(f"--- console\n{self.console.read_text(errors='replace')[-3000:]}", file=sys.stderr)
        if failure is not None and self.leader:
            try:
                print(self.sh("journalctl --no-pager -n 80", seconds=30), file=sys.stderr)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                print(error, file=sys.stderr)
        self.power_off()
        shutil.rmtree(self.path)

    def binds(self) -> list[str]:
        return [f"--bind={self.shared}:/srv/shared", f"--bind={self.shared}/archives:/var/cache/apt/archives"]

    def sh(self, script: str, seconds: float = SECONDS) -> str:
        """Runs a script inside as root, whether it is booted or not."""
        environment = ["/usr/bin/env", "-i", "HOME=/var/tmp", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                       "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
        if self.leader:
            return run("nsenter", "--target", str(self.leader), "--all", "--", *environment, "/bin/sh", "-ec", script,
                       seconds=seconds)
        return run("systemd-nspawn", "--register=no", "--keep-unit", "--quiet", "--pipe", "--as-pid2",
                   "--resolv-conf=copy-host", *self.binds(), "-D", self.path, *environment, "/bin/sh", "-ec", script,
                   seconds=seconds)

    def boot(self) -> None:
        """Until systemd says that it has started everything; a network of its own, so that ports are free."""
        with self.console.open("wb") as console:
            self.nspawn = subprocess.Popen(
                ["systemd-nspawn", "--register=no", "--keep-unit", "--private-network", "--boot", *self.binds(),
                 "-D", self.path], stdin=subprocess.DEVNULL, stdout=console, stderr=console)

        def started() -> bool:
            self.check_nspawn()
            # Its first child is gone once the one that becomes process 1 inside is there.
            self.leader = next(iter(children(self.nspawn.pid)), 0)
            if not self.leader:
                return False
            try:
                return "running" in self.sh("systemctl is-system-running || true", seconds=10)
            except AssertionError:
                return False  # its bus is not there yet

        until("the system runs", started, 120)

    def check_nspawn(self) -> None:
        if self.nspawn.poll() is not None:
            raise AssertionError(f"systemd-nspawn ended with {self.nspawn.returncode}")

    def power_off(self) -> None:
        """By systemd, or by force."""
        if self.nspawn is None:
            return
        nspawn, self.nspawn = self.nspawn, None
        try:
            if nspawn.poll() is None and self.leader:
                os.kill(self.leader, signal.SIGRTMIN + 4)  # systemd's word for powering off
                nspawn.wait(60)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        finally:
            if nspawn.poll() is None:
                nspawn.kill()  # the kernel ends all that is in its namespace
                nspawn.wait(30)
            self.leader = 0
