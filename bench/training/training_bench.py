"""How fast dttrain trains, compared with PyTorch in Python on the same machine: a table of medians.

Catalogue on a CPU: the models below in fp32, each on 1 rank with all the cores and on 2 ranks with one core each (DDP
over Gloo), by dttrain and by PyTorch eager and compiled (modes default and max-autotune-no-cudagraphs). Results are
medians over the rounds of the median step of a round, without the first steps; processor time, of all ranks together,
is affected least by other work on the machine.

Catalogue on a GPU (--device cuda), and with --shapes also on a CPU: the shapes of bench/training/shapes.py on one
rank, in bf16 on a GPU, by dttrain and the peers listed there. Medians, p10 and p90 of step times, tokens/s, the share
of an H200's maximum, memory, time to the first step.

In both cases the build of LibTorch, the initial weights and the tokens are the same; the variants take turns, round
by round, and every round trains the same steps from the initial weights.

Exits with 1 when the losses of any step differ from PyTorch's, in fp32 by more than 1e-4, in bf16 by more than 0.02
in the first 20 steps and 0.05 after them; with 2 when Python has no PyTorch here; and with 77 when a GPU is requested
but absent. It prints the reason.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import gpu
import models
import ours
import python_torch
import shapes
import shapes_bench
import theirs
import turns

LOSS_TOLERANCE = 1e-4
WARM_UP_STEPS = 3
COMPILED = ["default", "max-autotune-no-cudagraphs"]
MODELS = {
    "tiny_transformer": {"about": "tiny_transformer, 38.2M parameters", "batch": 8, "length": 64, "steps": 11,
                         "model": models.TINY_TRANSFORMER},
    "small_gpt": {"about": "small GPT, 16.1M parameters", "batch": 8, "length": 128, "steps": 11,
                  "model": models.SMALL_GPT},
    "byte_gpt": {"about": "byte GPT, 0.8M parameters", "batch": 16, "length": 64, "steps": 40,
                 "model": models.BYTE_GPT},
}


class Bench:
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options, self.folder = options, folder
        self.python, self.environment = (
            (sys.executable, dict(os.environ)) if options.peer_program else
            python_torch.environment(pathlib.Path(options.libtorch), python_torch.cache_folder(), options.same_mkl,
                                     options.device))
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.cores = sorted(os.sched_getaffinity(0))
        self.shapes, self.peers = options.chosen_shapes, options.chosen_peers
        self.disagree = False

    def catalogue(self) -> int:
        """The models on a CPU."""
        print(f"{'':36} {'':5} {'':34} {'':8} {'processor':>9} {'':9} {'dttrain is faster':>19}\n"
              f"{'model':36} {'ranks':>5} {'variant':34} {'ms/step':>8} {'ms/step':>9} {'tokens/s':>9} {'by time':>8} "
              f"{'processor':>10} {'loss apart':>10}", flush=True)
        begin = time.monotonic()
        for name in self.options.models.split(","):
            for ranks in self.options.ranks.split(","):
                self.measure(name, int(ranks))
        print(f"{time.monotonic() - begin:.0f} s")
        if self.disagree:
            print(f"training_bench: losses differ by more than {LOSS_TOLERANCE}", file=sys.stderr)
        return int(self.disagree)

    def measure(self, name: str, ranks: int) -> None:
        case = {**MODELS[name], "ranks": ranks, "threads": len(self.cores) if ranks == 1 else 1,
                "cores": [self.cores] if ranks == 1 else [[self.cores[r % len(self.cores)]] for r in range(ranks)],
                "lr": models.LEARNING_RATE, "device": "cpu", "precision": "fp32", "accumulate": 1}
        folder = self.folder / f"{name}-{ranks}"
        folder.mkdir()
        steps = self.options.steps or case["steps"]
        tokens = case["batch"] * case["length"] * ranks
        models.write_shard(folder / "train.bin", case["model"]["vocab_size"], steps * tokens + 1)
        spec = models.spec_of(case["model"], batch=case["batch"], length=case["length"], steps=steps)
        gang = ours.Gang(self.options.dttrain, case["threads"], case["cores"], self.log)
        case["shard"], case["meeting"] = str(folder / "train.bin"), str(folder / "meet-")
        case["weights"] = ours.initial_weights(gang, spec, str(folder), str(folder))
        case_file = folder / "case.json"
        case_file.write_text(json.dumps(case))
        runs = {"dttrain": lambda: gang.run(spec, str(folder))}
        peers = {}
        for variant in ["eager"] + ([] if self.options.no_compile else COMPILED):
            peer = theirs.Peer(self.python, self.environment, str(case_file), ranks, variant, self.log)
            if peer.failed:
                raise RuntimeError(f"PyTorch {variant}: {peer.failed}")
            peers["PyTorch " + variant] = peer
            runs["PyTorch " + variant] = lambda peer=peer: peer.run(steps)
        told = turns.in_turns(runs, self.options.rounds)
        gang.close()
        for peer in peers.values():
            peer.close()
        shutil.rmtree(folder)
        self.report(case, ranks, tokens, told)

    def report(self, case: dict, ranks: int, tokens: int, told: dict[str, list[dict]]) -> None:
        def medians(variant: str, what: str) -> list[float]:
            return [statistics.median(round[what][WARM_UP_STEPS:]) for round in told[variant]]

        def times_ours(variant: str, what: str) -> float:
            return statistics.median(theirs / mine for theirs, mine in zip(medians(variant, what),
                                                                           medians("dttrain", what)))

        for variant, rounds in told.items():
            seconds = statistics.median(medians(variant, "seconds"))
            processor = statistics.median(medians(variant, "processor"))
            apart = max(abs(a - b) for mine, theirs in zip(told["dttrain"], rounds)
                        for a, b in zip(mine["losses"], theirs["losses"]))
            self.disagree |= not apart <= LOSS_TOLERANCE
            compared = (f"{times_ours(variant, 'seconds'):7.2f}x {times_ours(variant, 'processor'):9.2f}x {apart:10.1e}"
                        if variant != "dttrain" else "")
            print(f"{case['about']:36} {ranks:5} {variant:34} {1e3 * seconds:8.0f} {1e3 * processor:9.0f} "
                  f"{tokens / seconds:9,.0f} {compared}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="training_bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dttrain", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--libtorch", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer-program", default="", help=argparse.SUPPRESS)
    parser.add_argument("--models", default="tiny_transformer,small_gpt", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--ranks", default="1,2", help="numbers of ranks")
    parser.add_argument("--rounds", type=int, default=0, help="3; with shapes 2")
    parser.add_argument("--steps", type=int, default=0,
                        help=f"of a round; the first {WARM_UP_STEPS} do not count. With shapes: those that count, 100, "
                             "or fewer where a step takes a second")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--same-mkl", action="store_true",
                        help="have PyTorch's MKL go by the processor and not by its maker too, as dttrain has it")
    shapes_bench.add_options(parser)
    options = parser.parse_args()
    if options.shapes == "list":
        print("\n".join(shape.name for shape in shapes.SHAPES + shapes.TRIAL_SHAPES))
        sys.exit(0)
    options.by_shapes = options.device == "cuda" or bool(options.shapes)
    try:
        options.chosen_shapes = shapes.chosen_shapes(options.shapes, options.quick)
        options.chosen_peers = shapes.chosen_peers(options.peers, options.quick, options.device)
    except ValueError as error:
        parser.error(str(error))
    if options.rounds == 0:
        options.rounds = 2 if options.by_shapes else 3
    if unknown := set(options.models.split(",")) - set(MODELS):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    least = 1 if options.by_shapes else WARM_UP_STEPS + 1
    if options.rounds < 1 or (options.steps and options.steps < least):
        parser.error(f"--rounds is at least 1 and --steps at least {least}")
    return options


def main() -> int:
    options = parse()
    if options.device == "cuda" and (why := gpu.absent()):
        print(f"training_bench: skipped: {why}", file=sys.stderr)
        return gpu.SKIPPED
    with tempfile.TemporaryDirectory(prefix="training_bench-") as name:
        folder = pathlib.Path(name)
        try:
            bench = Bench(options, folder)
        except python_torch.Absent as why:
            print(f"training_bench: no PyTorch in Python to compare with: {why}", file=sys.stderr)
            return 2
        try:
            return shapes_bench.run(options, folder, bench) if options.by_shapes else bench.catalogue()
        except (RuntimeError, theirs.Failed) as error:
            bench.log.flush()
            print((folder / "log").read_text(encoding="utf-8")[-4000:], file=sys.stderr)
            print(f"training_bench: {error}; above is what the processes said last", file=sys.stderr)
            return 1


sys.exit(main())
