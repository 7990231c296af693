"""The stages of a day on a GPU, the most valuable first, and the command of each."""

import os
import pathlib
import sys

import kit as kits
import planner

HERE = pathlib.Path(__file__).resolve().parent
BENCH = "bench-"


def bench_name(shape: str) -> str:
    return BENCH + shape.replace(":", "-")


def of(kit: kits.Kit) -> list[planner.Stage]:
    every = [
        planner.Stage("machine", 90, 10, trainer=False),
        # PyTorch by itself while the trainer is built: gives the first results, and warms its compiler's cache.
        planner.Stage("pytorch", 240, 60, trainer=False),
        planner.Stage("tests", 300, 60),
    ]
    every += [planner.Stage(bench_name(shape), 240, 90) for shape in kit.shapes[:1]]
    every += [planner.Stage(bench_name(shape), 150, 60) for shape in kit.shapes[1:]]
    every += [
        planner.Stage("step-table", 240, 60),
        planner.Stage("sanitizer", 240, 40),
        planner.Stage("recipe", 240, 80),
        planner.Stage("memory", 120, 30),
        planner.Stage("settings", 150, 45),
        planner.Stage("graphs", 200, 60),
    ]
    scale = kit.seconds_scale
    return [planner.Stage(s.name, max(1, round(s.most * scale)), max(1, round(s.least * scale)), s.trainer)
            for s in every]


def bench(kit: kits.Kit, shape: str, peers: str) -> list[str]:
    command = [sys.executable, "-B", str(HERE.parent / "training/training_bench.py"), "--dttrain", kit.dttrain,
               "--libtorch", kit.torch(), "--device", "cuda", "--shapes", shape, "--peers", peers,
               "--rounds", str(kit.rounds), "--steps", str(kit.steps), "--warm-up", str(kit.warm_up)]
    if kit.peer_program:
        command += ["--peer-program", kit.peer_program]
    return command


def command(kit: kits.Kit, name: str) -> list[str]:
    if name.startswith(BENCH):
        shape = next(shape for shape in kit.shapes if bench_name(shape) == name)
        return bench(kit, shape, "eager,default")
    if name == "graphs":
        return bench(kit, kit.graph_shape, "max-autotune")
    return [sys.executable, "-B", str(HERE / "parts.py"), name]


def seconds() -> float:
    """Seconds that the current stage may take."""
    return float(os.environ.get("DTRAIN_DAY_SECONDS", "600"))
