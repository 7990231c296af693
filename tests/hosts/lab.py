"""Several hosts on one machine, for tests: namespaces, and a switch of our own between them that fails on demand.

Each host has its own network, process ids, name, shared memory, /proc and /etc/hosts; files are those of the machine,
as on a shared storage. `desk` is the test's own place at the switch. Use it inside `namespaces.enter()`:

    with Lab(switch, folder, ["alpha", "beta"]) as lab:
        lab.cut("alpha", "beta")            # both ways; both=False: only frames from alpha to beta
        lab.rule("alpha", "*", delay=50, jitter=20, loss=5, reorder=10)
        lab.heal()
        process = lab["alpha"].start("name", ["program", "argument"])
        lab["beta"].power_off()
"""

import itertools
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from until import until  # noqa: E402

import namespaces  # noqa: E402

DESK = "desk"
DEVICE = "lan0"
DOMAIN = "example"
SEED = "DTRAIN_TEST_SEED"
# The kernel removes the cable of a host that is off a little later.
_CABLE_NUMBERS = itertools.count(1)
# A host's first process sets the host's name and files, then waits until it is killed or the lab is gone.
FIRST_PROCESS = """
hostname "$1" && mount --bind "$2" /etc/hosts && mount -t tmpfs none /dev/shm && ip link set lo up &&
echo ready && read _
"""


class Process:
    """A program on a host. `pid` is its number outside, for signals."""

    def __init__(self, entered: subprocess.Popen):
        self._entered = entered
        self.pid = until("the program on the host", lambda: _only_child(entered), 30)

    def signal(self, number: int) -> None:
        try:
            os.kill(self.pid, number)
            if number == signal.SIGCONT:  # nsenter stands still with its child
                self._entered.send_signal(number)
        except ProcessLookupError:
            pass

    def ended(self) -> int | None:
        return self._entered.poll()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._entered.wait(timeout=30)

    def reap(self) -> None:
        """Waits for the end of a program whose host went off."""
        self._entered.wait(timeout=30)

    def stop(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self._entered.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()


class Host:
    def __init__(self, lab: "Lab", name: str):
        self.lab = lab
        self.name = name
        self.full_name = f"{name}.{DOMAIN}"
        self.first: subprocess.Popen | None = None
        self.pid = 0  # of its first process
        self.number = 0
        self._started: list[Process] = []

    @property
    def address(self) -> str:
        return _address(self.number)

    @property
    def address6(self) -> str:
        return f"fd77::{self.number}"

    def power_on(self) -> None:
        """Starts the host and plugs it into the switch."""
        files = self.lab.hosts_file(self.name)
        # A pipe as input: it ends with the lab.
        errors = self.lab.folder / f"host-{self.name}.log"
        with errors.open("ab") as log:
            self.first = subprocess.Popen(
                ["unshare", *namespaces.SPACES, "bash", "-c", FIRST_PROCESS, "bash", self.name, str(files)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        if self.first.stdout.readline() != "ready\n":
            raise AssertionError(f"host {self.name} did not start: {errors.read_text(errors='replace')}")
        self.pid = _only_child(self.first)
        self.lab.plug(self)
        self.lab.cut(self.name, cut=False)

    def power_off(self) -> None:
        """Ends everything on the host at once, as a power cut does: no connection says goodbye."""
        self.lab.cut(self.name)
        os.kill(self.pid, signal.SIGKILL)
        self.first.communicate(timeout=30)  # also closes the pipes
        self.first = None
        for process in self._started:
            process.reap()
        self._started.clear()

    def start(self, name: str, command: list[str], variables: dict[str, str] | None = None) -> Process:
        """Starts a program here. Its output goes to NAME.log in the lab's folder."""
        with (self.lab.folder / f"{name}.log").open("ab") as log:
            self._started.append(
                Process(subprocess.Popen(self._enter(*command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         cwd=self.lab.folder, env={**os.environ, **(variables or {})})))
        return self._started[-1]

    def run(self, *command: str, seconds: float = 60) -> str:
        done = subprocess.run(self._enter(*command), capture_output=True, text=True, timeout=seconds, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command} on {self.name}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def processes(self, name: str = "") -> list[int]:
        """Returns the numbers, outside, of the processes here, or of those with this name."""
        here = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                same = os.readlink(entry / "ns/pid") == here
                called = (entry / "comm").read_text().strip()
            except OSError:
                continue  # it has ended
            if same and int(entry.name) != self.pid and name in ("", called):
                found.append(int(entry.name))
        return found

    def network(self):
        """Sockets that are made in this block are those of this host."""
        return namespaces.network_of(self.pid)

    def _enter(self, *command: str) -> list[str]:
        # With the working directory, which nsenter looks up in the host's mounts.
        return ["nsenter", f"--target={self.pid}", "--net", "--pid", "--uts", "--ipc", "--mount",
                f"--wd={self.lab.folder}", *command]


class Lab:
    """`kind`: "tap", or "packet" where there is no /dev/net/tun; "" takes the first that works."""

    def __init__(self, switch: pathlib.Path, folder: pathlib.Path, names: list[str], kind: str = ""):
        self.folder = folder
        self.kind = kind or ("tap" if os.access("/dev/net/tun", os.R_OK | os.W_OK) else "packet")
        self.seed = int(os.environ.get(SEED) or random.getrandbits(32))
        # ctest shows it at a failure; with it the same frames are lost.
        print(f"the switch ({self.kind}) draws with {SEED}={self.seed}", file=sys.stderr)
        self._hosts = {name: Host(self, name) for name in names}
        self._numbers = {name: number for number, name in enumerate((DESK, *names), 1)}
        self._desk_cable = ""
        self._given: dict[str, str] = {}  # further names, each with the host that has it
        path = folder / "switch"
        self._switch = subprocess.Popen([switch, str(path), str(self.seed), self.kind], stdin=subprocess.DEVNULL)
        self._control = until("the switch", lambda: self._reach(path), 30)
        self._answers = self._control.makefile("r", encoding="utf-8")

    def __enter__(self) -> "Lab":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=30)
        desk = Host(self, DESK)
        desk.pid = os.getpid()
        self.plug(desk)
        subprocess.run(["mount", "--bind", str(self.hosts_file(DESK)), "/etc/hosts"], check=True, timeout=30)
        for host in self._hosts.values():
            host.power_on()
        return self

    def __exit__(self, *unused) -> None:
        for host in self._hosts.values():
            if host.first is not None:
                host.power_off()
        subprocess.run(["umount", "/etc/hosts"], check=True, timeout=30)
        if self._desk_cable:  # cables of hosts went with them
            _ip(f"link delete {self._desk_cable}")
        self._answers.close()
        self._control.close()
        self._switch.kill()
        self._switch.wait(timeout=30)

    def __getitem__(self, name: str) -> Host:
        return self._hosts[name]

    def names(self) -> list[str]:
        """Returns the hosts and the desk."""
        return list(self._numbers)

    def command(self, line: str) -> str:
        """Sends the switch a line of tests/hosts/switch/commands.h; returns the answer behind "ok"."""
        self._control.sendall(f"{line}\n".encode())
        answer = self._answers.readline().strip()
        if not answer.startswith("ok"):
            raise AssertionError(f"{line}: {answer or 'the switch is gone'}")
        return answer[2:].strip()

    def rule(self, source: str, target: str, **settings: float) -> None:
        self.command(f"set {source} {target} " + " ".join(f"{name}={value}" for name, value in settings.items()))

    def cut(self, one: str, other: str = "*", both: bool = True, cut: bool = True) -> None:
        self.rule(one, other, cut=int(cut))
        if both:
            self.rule(other, one, cut=int(cut))

    def heal(self) -> None:
        self.command("clear")

    def counts(self, source: str, target: str) -> dict[str, int]:
        """Returns how many frames were delivered, lost and cut on this way."""
        words = self.command(f"show {source} {target}").split()
        return {name.removeprefix("frames_"): int(value)
                for name, value in (word.split("=") for word in words) if name.startswith("frames_")}

    def plug(self, host: Host) -> None:
        cable = ""
        if self.kind == "packet":
            cable = f"cable{next(_CABLE_NUMBERS)}"
            if host.name == DESK:
                self._desk_cable = cable
            _ip(f"link add {cable} type veth peer name {DEVICE} netns {host.pid}", f"link set {cable} up promisc on")
        host.number = int(self.command(f"plug {host.name} {host.pid} {cable}"))
        if host.number != self._numbers[host.name]:
            raise AssertionError(f"host {host.name} has number {host.number}, not {self._numbers[host.name]}")
        lines = (f"link set {DEVICE} address 02:00:00:00:00:{host.number:02x} mtu 1500",
                 f"address add {host.address}/24 dev {DEVICE}",
                 f"address add {host.address6}/64 dev {DEVICE} nodad", f"link set {DEVICE} up")
        _ip(*lines, enter=["nsenter", f"--target={host.pid}", "--net"])

    def give_name(self, name: str, host: str) -> None:
        """Makes this further name one of that host, for all; another host may have had it before."""
        self._given[name] = host
        for each in self.names():
            self.hosts_file(each)

    def hosts_file(self, of: str) -> pathlib.Path:
        """Writes the /etc/hosts of a host, in place."""
        path = self.folder / f"{of}.hosts"
        lines = ["127.0.0.1 localhost", "::1 localhost"]
        for name, number in self._numbers.items():
            lines += [f"{_address(number)} {name}.{DOMAIN} {name}", f"fd77::{number} {name}6.{DOMAIN}"]
        lines += [f"{_address(self._numbers[host])} {name}" for name, host in self._given.items()]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def _reach(self, path: pathlib.Path) -> socket.socket | None:
        if self._switch.poll() is not None:
            raise AssertionError(f"the switch ended with {self._switch.returncode}")
        control = socket.socket(socket.AF_UNIX)
        control.settimeout(30)
        try:
            control.connect(str(path))
        except OSError:  # it does not listen yet
            control.close()
            return None
        return control


def _address(number: int) -> str:
    return f"10.77.0.{number}"


def _only_child(process: subprocess.Popen) -> int:
    if process.poll() is not None:
        raise AssertionError(f"{process.args} ended with {process.returncode}")
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0]) if children else 0


def _ip(*lines: str, enter: list[str] | None = None) -> None:
    done = subprocess.run([*(enter or []), "ip", "-batch", "-"], input="\n".join(lines), text=True, timeout=30,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"ip {lines}: {done.stderr}")
