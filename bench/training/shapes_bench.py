"""The benchmark by shapes: dttrain and PyTorch in Python on one device, shape by shape, variants in turns."""

import argparse
import json
import os
import pathlib
import shutil
import sys
import time

import gpu
import models
import ours
import shapes
import theirs

OURS = "dttrain"
WARM_UP_STEPS, TIMED_STEPS = 20, 100
QUICK_STEPS, QUICK_BUDGET = 30, 360
HEADING = (f"{'shape':18} {'variant':30} {'ms/step':>8} {'p10':>8} {'p90':>8} {'tokens/s':>11} {'strict':>6} "
           f"{'serial':>6} {'memory':>7} {'first':>6} {'ratio':>6}  losses apart (first {shapes.EARLY_STEPS}, all)")
EXPLANATION = """\
ms/step: medians over all rounds' readings; strict, serial: parts of what an H200 could do (bench/training/shapes.py);
memory: GiB at the peak; first: seconds from the process's start to the first loss; ratio: times dttrain's ms/step."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu",
                        help="cuda: the shapes of a GPU in bf16, on GPU 0")
    parser.add_argument("--shapes", default="",
                        help="names like gpt2:4x1024, or models, with commas; on a CPU too. 'list' names them")
    parser.add_argument("--peers", default="", help=f"of {', '.join(shapes.PEERS)}")
    parser.add_argument("--quick", action="store_true",
                        help=f"four shapes, eager and compiled in mode default, {QUICK_STEPS} steps; no shape begins "
                             f"after {QUICK_BUDGET} s")
    parser.add_argument("--warm-up", type=int, default=-1, help=f"steps before those that count; {WARM_UP_STEPS}")
    parser.add_argument("--budget", type=int, default=0, help="seconds after which no shape begins; 0: none")


def record(shape: shapes.Shape, who: str, **values) -> None:
    """Prints a line for ./dev gpu-day, which sets the file."""
    if path := os.environ.get("DTRAIN_DAY_RECORDS"):
        told = {"what": "bench", "stage": os.environ.get("DTRAIN_DAY_STAGE", ""), "shape": shape.name, "who": who}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({**told, **values}) + "\n")


class Contest:
    """A shape: all variants that train it, and their results."""

    def __init__(self, options: argparse.Namespace, shape: shapes.Shape, folder: pathlib.Path, surroundings):
        self.options, self.shape, self.folder, self.at = options, shape, folder, surroundings
        self.precision = "bf16" if options.device == "cuda" else "fp32"
        steps = options.steps or (QUICK_STEPS if options.quick else TIMED_STEPS)
        self.steps = min(steps, shape.steps) if shape.steps else steps
        warm_up = options.warm_up if options.warm_up >= 0 else WARM_UP_STEPS
        self.warm_up = min(warm_up, self.steps)
        self.window = shapes.window_of(self.warm_up, self.steps)
        self.told: dict[str, list[dict]] = {}
        self.failed: dict[str, str] = {}
        self.first: dict[str, float] = {}
        self.kernels: list[str] = []

    @property
    def all_steps(self) -> int:
        return self.warm_up + self.steps

    def spec(self, logged_every: int) -> dict:
        return models.spec_of(self.shape.model, batch=self.shape.batch, length=self.shape.length,
                              steps=self.all_steps, accumulate=self.shape.accumulate, precision=self.precision,
                              logged_every=logged_every)

    def hold(self) -> None:
        device = "cuda:0" if self.options.device == "cuda" else "cpu"
        gang = ours.Gang(self.options.dttrain, len(self.at.cores), [self.at.cores], self.at.log, device)
        peers: dict[str, theirs.Peer] = {}
        try:
            self._hold(gang, peers)
        finally:
            gang.close()
            for peer in peers.values():
                peer.close()

    def _hold(self, gang: ours.Gang, peers: dict[str, theirs.Peer]) -> None:
        runs = {}
        try:
            weights = ours.initial_weights(gang, self.spec(1), str(self.folder), str(self.folder))
        except ours.Ended as end:
            self.failed[OURS] = str(end)
            return
        self.first[OURS] = gang.first_step_seconds
        case_file = self.folder / "case.json"
        case_file.write_text(json.dumps({
            "model": self.shape.model, "batch": self.shape.batch, "length": self.shape.length,
            "accumulate": self.shape.accumulate, "ranks": 1, "threads": len(self.at.cores), "cores": [self.at.cores],
            "device": self.options.device, "precision": self.precision, "lr": models.LEARNING_RATE,
            "shard": str(self.folder / "train.bin"), "weights": weights, "meeting": ""}))
        runs[OURS] = lambda: gang.run(self.spec(self.window), str(self.folder))
        for variant in shapes.peers_of(self.shape, self.at.peers):
            peer = theirs.Peer(self.at.python, self.at.environment, str(case_file), 1, variant, self.at.log,
                               pathlib.Path(self.options.peer_program or theirs.PROGRAM))
            peers[variant] = peer
            self.first[variant] = peer.ready_seconds
            runs[variant] = lambda peer=peer: peer.run(self.all_steps)
            if peer.failed:
                self.failed[variant] = peer.failed
        # Every step's loss, in a run that is not timed, since reading it makes the host wait.
        self.losses = self._run(OURS, lambda: gang.run(self.spec(1), str(self.folder)))
        for _ in range(self.options.rounds):
            for variant, run in runs.items():
                told = self._run(variant, run)
                if told:
                    self.told.setdefault(variant, []).append(told)
        if shapes.EAGER in peers and shapes.EAGER not in self.failed:
            self.kernels = peers[shapes.EAGER].attention_kernels()

    def _run(self, variant: str, run) -> dict:
        """Returns its result; None if it failed, now or before."""
        if variant in self.failed:
            return {}
        try:
            return run()
        except (ours.Ended, theirs.Failed) as why:
            self.failed[variant] = str(why)
            return {}

    def times(self, variant: str) -> shapes.Times:
        """dttrain's rows are windows already."""
        window, skipped = (1, self.warm_up // self.window) if variant == OURS else (self.window, self.warm_up)
        return shapes.times_of([shapes.in_windows(told["seconds"][skipped:], window) for told in self.told[variant]])

    def report(self) -> list[str]:
        """Prints the table's lines; returns the errors in the losses."""
        shape, problems = self.shape, []
        floors = shapes.floors(shape)
        mine = self.times(OURS).median if OURS in self.told else 0.0
        for variant in [OURS] + shapes.peers_of(shape, self.at.peers):
            if variant not in self.told:
                record(self.shape, variant, failed=self.failed.get(variant, "not run"))
                print(f"{shape.name:18} {variant:30} {self.failed.get(variant, 'not run')}", flush=True)
                continue
            times = self.times(variant)
            line = (f"{shape.name:18} {variant:30} {1e3 * times.median:8.2f} {1e3 * times.p10:8.2f} "
                    f"{1e3 * times.p90:8.2f} {shape.tokens / times.median:11,.0f} ")
            on_gpu = self.options.device == "cuda"
            line += "".join(f"{100 * floor / times.median:5.0f}% " if on_gpu else f"{'-':>6} "
                            for floor in (floors.strict, floors.serial))
            memory = max(told["memory"] for told in self.told[variant])
            line += f"{memory / 2**30:7.2f} {self.first[variant]:6.1f} "
            compared = {}
            if variant != OURS and mine > 0:
                agreement = self._agreement(variant)
                line += f"{times.median / mine:5.2f}x  {self._judged(variant, agreement, problems)}"
                compared = {"ratio": times.median / mine, "early": agreement.early, "all": agreement.all}
            print(line, flush=True)
            record(self.shape, variant, ms=1e3 * times.median, p10=1e3 * times.p10, p90=1e3 * times.p90,
                   tokens_per_second=shape.tokens / times.median, memory_gib=memory / 2**30,
                   first_seconds=self.first[variant], **compared)
        if self.kernels:
            print(f"{'':18} attention of PyTorch eager: {', '.join(self.kernels)}")
        return problems

    def _agreement(self, variant: str) -> shapes.Agreement:
        return shapes.agreement(self.losses.get("losses", []), self.told[variant][0]["losses"], self.precision)

    def _judged(self, variant: str, agreement: shapes.Agreement, problems: list[str]) -> str:
        words = f"{agreement.early:.1e} {agreement.all:.1e}"
        if variant == shapes.PARAMETERS16:
            return words + " (other arithmetic: not judged)"
        if agreement.problem:
            problems.append(f"{self.shape.name} {variant}: {agreement.problem}")
        return words


def run(options: argparse.Namespace, folder: pathlib.Path, surroundings) -> int:
    """`surroundings`: python, environment, cores, log, chosen shapes and peers."""
    begin = time.monotonic()
    contests: list[Contest] = []
    problems: list[str] = []
    print(HEADING, flush=True)
    budget = options.budget or (QUICK_BUDGET if options.quick else 0)
    for number, shape in enumerate(surroundings.shapes):
        if budget and time.monotonic() - begin > budget:
            print(f"{shape.name:18} left out: {budget} s are over; --shapes {shape.name} runs it", flush=True)
            continue
        place = folder / str(number)
        place.mkdir()
        contest = Contest(options, shape, place, surroundings)
        models.write_shard(place / "train.bin", shape.model["vocab_size"], contest.all_steps * shape.tokens + 1)
        before = gpu.clocks() if options.device == "cuda" else ""
        contest.hold()
        problems += contest.report()
        if before:
            print(f"{'':18} GPU, clocks of SM and memory, most of SM, power, temperature: {before} before, "
                  f"{gpu.clocks()} after", flush=True)
        contests.append(contest)
        shutil.rmtree(place)
    print(EXPLANATION)
    print(f"{contests[0].precision}, {options.rounds} rounds; {time.monotonic() - begin:.0f} s")
    problems += [f"{c.shape.name} dttrain: {c.failed[OURS]}" for c in contests if OURS in c.failed]
    for problem in problems:
        print(f"training_bench: {problem}", file=sys.stderr)
    return int(bool(problems))
