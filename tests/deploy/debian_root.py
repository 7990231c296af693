"""A Debian in a folder, for tests that install packages: made once, unpacked for each test, and booted.

Needs root's rights, mmdebstrap, systemd-nspawn and a package source. Leaving the `with` block ends everything that runs
in it and removes it. nspawn's mounts are in their own namespace and end with it.
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
    """Returns what is missing on this machine, or None."""
    if os.geteuid() != 0:
        return "it installs packages into a root folder, which takes root's rights"
    missing = [program for program in programs if shutil.which(program) is None]
    packages = {"systemd-nspawn": "systemd-container", "ip": "iproute2", "cpack": "cmake",
                "dpkg-shlibdeps": "dpkg-dev", "unshare": "util-linux", "nsenter": "util-linux", "git": "git"}
    if missing:
        listed = ", ".join(f"{one} (package {packages.get(one, one)})" for one in missing)
        return f"missing: {listed}; ./dev setup --house"
    return None


def run(*command: str | pathlib.Path, seconds: float = SECONDS, **more) -> str:
    """Returns its standard output. Raises AssertionError with all its output if it fails."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False, **more)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-6000:]
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{said}")
    return done.stdout


# The systems that static programs are made for.
KEYS = "share/keyrings/ubuntu-archive-keyring.gpg"
UBUNTU_KEYS = next((folder / KEYS for folder in (pathlib.Path("/usr"), pathlib.Path("/usr/local"))
                    if (folder / KEYS).exists()), None)
SYSTEMS = {"Debian 13": "trixie", "Debian 12": "bookworm", "Ubuntu 24.04": "noble", "Ubuntu 22.04": "jammy"}
UBUNTU = ("noble", "jammy")


def make_base(target: pathlib.Path, packages: list[str], release: str = RELEASE) -> None:
    """Makes a root of the release's required packages and these, from mmdebstrap's default package source: a folder, or
    a file if the target's name ends with .tar."""
    include = [f"--include={','.join(packages)}"] if packages else []
    # Ubuntu has python3-venv in universe.
    ubuntu = ["--components=main,universe", f"--keyring={UBUNTU_KEYS}"] if release in UBUNTU else []
    run("mmdebstrap", "--variant=minbase", *ubuntu, *include, release, target)


def why_not_system(release: str) -> str | None:
    """Returns why a root of this release cannot be made here, or None."""
    if release in UBUNTU and UBUNTU_KEYS is None:
        return f"there is no {KEYS}, with which Ubuntu signs; ./dev setup --house"
    return None


def run_in(root: pathlib.Path, script: str, *mounts: str, seconds: float = SECONDS) -> str:
    """Runs a script as root in a root folder, with its own processes, mounts and network, which is a loopback alone, so
    that every port is free; all of them end with it. Each of `mounts` is a command before it."""
    before = "".join(f"{mount}; " for mount in mounts)
    inside = ["chroot", str(root), "/usr/bin/env", "-i", "HOME=/var/tmp", "LC_ALL=C.UTF-8",
              "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "/bin/sh", "-ec", script]
    return run("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "/bin/sh", "-ec",
               f"ip link set lo up; mount -t proc proc {root}/proc; mount --bind /dev {root}/dev; {before} exec \"$@\"",
               "sh", *inside, seconds=seconds)


def children(pid: int) -> list[int]:
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def end_container(process: subprocess.Popen) -> None:
    """Ends a container that `unshare --kill-child` started: process 1 ends, and all of its namespace with it."""
    if process.poll() is None:
        process.kill()
    process.wait(30)


def stand_still(pid: int) -> None:
    """Stops the process with SIGSTOP, which some threads take later than others, and waits for all of them."""
    os.kill(pid, signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{pid}/task")

    def stopped() -> bool:
        try:
            return all("State:\tT" in (task / "status").read_text() for task in tasks.iterdir())
        except FileNotFoundError:
            return False  # a thread has just ended

    until(f"process {pid} stands still", stopped)


def grow_old(pid: int, file: str, seconds: float) -> None:
    """Makes a file look `seconds` old; `file` is its path as that process sees it."""
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
        """Boots it in its own network, so that ports are free. Waits until systemd has started everything."""
        with self.console.open("wb") as console:
            self.nspawn = subprocess.Popen(
                ["systemd-nspawn", "--register=no", "--keep-unit", "--private-network", "--boot", *self.binds(),
                 "-D", self.path], stdin=subprocess.DEVNULL, stdout=console, stderr=console)

        def started() -> bool:
            self.check_nspawn()
            # Its first child ends once the process that becomes process 1 inside exists.
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
        """Ends it through systemd, or by force."""
        if self.nspawn is None:
            return
        nspawn, self.nspawn = self.nspawn, None
        try:
            if nspawn.poll() is None and self.leader:
                os.kill(self.leader, signal.SIGRTMIN + 4)  # systemd's signal for powering off
                nspawn.wait(60)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        finally:
            if nspawn.poll() is None:
                nspawn.kill()  # the kernel ends everything in its namespace
                nspawn.wait(30)
            self.leader = 0
