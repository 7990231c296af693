"""Runs Slurm on this machine in a folder of the test: starts its daemons and munge's by hand, on their own ports.

Leaving the `with` block cancels every job and ends every daemon that it started.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess

from until import TooLate, until

PROGRAMS = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client"}
CONFIGURATION = """
ClusterName=dtrain-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# A job that is queued again waits for so long, until nobody can still hold its credential.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=30
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str | None:
    """Returns a text that names what is missing."""
    lacking = sorted({package for program, package in PROGRAMS.items() if find(program) is None})
    if lacking:
        return f"apt install --no-install-recommends {' '.join(lacking)}"
    return None


def find(program: str) -> str | None:
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class SlurmHouse:
    def __init__(self, folder: pathlib.Path, cpus: int):
        self.folder = folder
        self.cpus = cpus
        self.daemons: list[tuple[str, subprocess.Popen]] = []
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))

    def __enter__(self) -> "SlurmHouse":
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        controller, daemon = free_ports(2)
        host = socket.gethostname().split(".")[0]
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, controller=controller, daemon=daemon, user=user, folder=self.folder, cpus=self.cpus))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        here = str(self.folder)
        try:
            self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={here}/munge.socket",
                       f"--pid-file={here}/munge.pid", f"--log-file={here}/munge.log", f"--seed-file={here}/munge.seed")
            until("munge's socket", (self.folder / "munge.socket").exists, 30)
            self.start("slurmctld", "-D", "-i")
            self.start("slurmd", "-D", "-N", host)
            until("an idle node", lambda: "idle" in self.call("sinfo", "-h", "-o", "%T", check=False), 90)
        except BaseException:
            self.__exit__("start", None, None)
            raise
        return self

    def __exit__(self, failure, *unused) -> None:
        if failure is not None:
            for name, _ in self.daemons:
                print(f"--- {name}\n{(self.folder / f'{name}.out').read_text(errors='replace')[-3000:]}")
            for path in self.folder.glob("*.job"):
                print(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}")
        self.call("scancel", "--full", f"--user={os.getuid()}", check=False)
        try:
            until("an empty queue", lambda: not self.jobs(check=False), 60)
        except TooLate:
            print("jobs that do not end are left to slurmd's end")
        for _, process in reversed(self.daemons):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=5)

    def start(self, name: str, *words: str) -> None:
        with (self.folder / f"{name}.out").open("wb") as log:
            daemon = subprocess.Popen([find(name), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      env=self.environment, cwd=self.folder)
        self.daemons.append((name, daemon))

    def call(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True,
                              check=False, env=self.environment, cwd=self.folder)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def jobs(self, check: bool = True) -> dict[str, str]:
        """Returns the states of jobs by id."""
        lines = self.call("squeue", "--noheader", "--format=%i %T", check=check).splitlines()
        return dict(line.split() for line in lines if line.strip())
