"""Starts dttrain as an agent does: one warm process for each rank, which trains one attempt after another."""

import json
import os
import select
import socket
import subprocess
import time

PATIENCE_SECONDS = 600


class Ended(RuntimeError):
    """An attempt that ended before its last step, such as one out of memory."""


class Rank:
    """A trainer, and our end of the socket pair that it has as descriptor 3."""

    def __init__(self, program: str, device: str, threads: int, cores: list[int], log, flags: tuple[str, ...],
                 environment: dict[str, str]):
        self.socket, theirs = socket.socketpair()
        fd = theirs.fileno()
        self.process = subprocess.Popen(
            [program, "--agent", "--fd", str(fd), "--device", device, "--threads", str(threads),
             "--cores", ",".join(map(str, cores)), *flags],
            pass_fds=[fd], stderr=log, env={**os.environ, **environment})
        theirs.close()
        self.text = b""

    def send(self, frame: dict) -> None:
        self.socket.sendall(json.dumps(frame).encode() + b"\n")

    def receive(self) -> list[dict]:
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise RuntimeError("dttrain ended by itself")
        *lines, self.text = (self.text + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def processor_seconds(self) -> float:
        """Returns the processor seconds of all its threads so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.socket.close()
        self.process.wait(timeout=PATIENCE_SECONDS)


class Gang:
    def __init__(self, program: str, threads: int, cores: list[list[int]], log, device: str = "cpu",
                 flags: tuple[str, ...] = (), environment: dict[str, str] | None = None):
        """Starts the ranks. `device` is for every rank; `flags` and `environment` are added."""
        self.begin = time.monotonic()
        self.ranks = [Rank(program, device, threads, mine, log, flags, environment or {}) for mine in cores]
        self.first_step_seconds = 0.0  # from here to the first step's loss
        self.attempts = 0

    def run(self, spec: dict, data_root: str, storage: str = "") -> dict:
        """Trains one attempt. Returns, for each logged step, seconds of a step, processor seconds, loss and the full
        row; the peak of memory, and the last checkpoint's path."""
        self.attempts += 1
        token = f"bench-{self.attempts}"
        for number, rank in enumerate(self.ranks):
            rank.send({"type": "start", "token": token, "experiment": 1, "trial": 1, "attempt": self.attempts,
                       "rank": number, "world_size": len(self.ranks), "local_rank": number, "spec": spec,
                       "data_root": data_root, "storage": storage, "data_address": "127.0.0.1"})
        told = {"seconds": [], "processor": [], "losses": [], "rows": [], "memory": 0, "checkpoint": ""}
        self.processor_seconds = 0.0
        ended = 0
        until = time.monotonic() + PATIENCE_SECONDS
        while ended < len(self.ranks):
            ready, _, _ = select.select([rank.socket for rank in self.ranks], [], [], until - time.monotonic())
            if not ready:
                raise RuntimeError("dttrain did not finish in time")
            for rank in self.ranks:
                if rank.socket in ready:
                    ended += sum(self._note(rank, frame, told, token) for frame in rank.receive())
        return told

    def _note(self, rank: Rank, frame: dict, told: dict, token: str) -> bool:
        kind = frame["type"]
        if kind == "store":
            for peer in self.ranks[1:]:
                peer.send({"type": "connect", "token": token, "store_address": frame["address"]})
        elif kind == "step":
            self.first_step_seconds = self.first_step_seconds or time.monotonic() - self.begin
            row = frame["row"]
            told["seconds"].append(row["seconds"] / row["steps"])
            told["losses"].append(row["loss"])
            told["rows"].append(row)
            told["memory"] = max(told["memory"], row["memory_peak_bytes"])
            spent = sum(each.processor_seconds() for each in self.ranks)
            told["processor"].append(spent - self.processor_seconds)
            self.processor_seconds = spent
        elif kind == "checkpoint":
            told["checkpoint"] = frame["path"]
            rank.send({"type": "registered", "token": token, "step": frame["step"]})
        elif kind == "end" and frame["cause"] != "finished":
            raise Ended(f"dttrain ended as {frame['cause']}: {frame.get('message', '')}")
        return kind == "end"

    def close(self) -> None:
        for rank in self.ranks:
            rank.close()


def initial_weights(gang: Gang, spec: dict, data_root: str, storage: str) -> str:
    """Returns the safetensors file of the initial weights: a step whose learning rate is too small to change an fp32
    value."""
    still = json.loads(json.dumps(spec))
    still["train"]["max_steps"] = 1
    still["optimizer"]["lr"] = 1e-30
    told = gang.run(still, data_root, storage)
    return os.path.join(storage, told["checkpoint"], "model.safetensors")
