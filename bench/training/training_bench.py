"""How fast dttrain trains on this machine's CPU, against PyTorch in Python: a table of medians.

Catalogue: the models below in fp32, each on 1 rank with all the cores and on 2 ranks with one core each
(DDP over Gloo), by dttrain and by PyTorch eager and compiled (modes default and
max-autotune-no-cudagraphs). The same build of LibTorch, the same initial weights, the same tokens; the
variants take turns, round by round, and every round trains the same steps from the initial weights.
Figures are medians over the rounds of the median step of a round, the first steps left out; processor
time, of all ranks together, is what other work on the machine changes least.

Exits with 1 when the losses of any step differ by more than 1e-4 from PyTorch's, and with 2 when there
is no PyTorch in Python here, saying why.
"""

import argparse
import array
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import ours
import python_torch

LOSS_TOLERANCE = 1e-4
WARM_UP_STEPS = 3
COMPILED = ["default", "max-autotune-no-cudagraphs"]
LEARNING_RATE = 3e-4

GPT = {"preset": "gpt2", "norm": "pre", "positions": "learned", "activation": "gelu_tanh", "tie_head": True,
       "head_bias": False, "bias": True, "dropout": 0.0}
MODELS = {
    "tiny_transformer": {
        "about": "tiny_transformer, 38.2M parameters", "batch": 8, "length": 64, "steps": 11,
        "model": {"preset": "tiny_transformer", "norm": "post", "positions": "sinusoidal", "activation": "relu",
                  "n_layer": 5, "n_head": 5, "n_embd": 300, "n_ff": 2048, "n_positions": 2048, "dropout": 0.0,
                  "vocab_size": 50257, "vocab_pad": 50257, "tie_head": False, "head_bias": True, "bias": True},
    },
    "small_gpt": {
        "about": "small GPT, 16.1M parameters", "batch": 8, "length": 128, "steps": 11,
        "model": {**GPT, "n_layer": 4, "n_head": 4, "n_embd": 256, "n_ff": 1024, "n_positions": 128,
                  "vocab_size": 50257, "vocab_pad": 50304},
    },
    "byte_gpt": {
        "about": "byte GPT, 0.8M parameters", "batch": 16, "length": 64, "steps": 40,
        "model": {**GPT, "n_layer": 4, "n_head": 4, "n_embd": 128, "n_ff": 512, "n_positions": 64,
                  "vocab_size": 257, "vocab_pad": 320},
    },
}


def write_shard(path: pathlib.Path, vocab: int, count: int) -> None:
    """llm.c's format; skewed as words are, and the same every time."""
    draw = random.Random(1).random
    ids = array.array("H", (int(vocab * draw() ** 3) for _ in range(count)))
    header = array.array("i", [20240520, 1, count] + [0] * 253)
    path.write_bytes(header.tobytes() + ids.tobytes())


def spec_of(case: dict, steps: int) -> dict:
    return {
        "seed": "11",
        "data": {"train": "train.bin", "shuffle": False},
        "model": case["model"],
        "train": {"batch_size": case["batch"], "seq_len": case["length"], "max_steps": str(steps), "grad_clip": 1.0},
        "optimizer": {"lr": LEARNING_RATE, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1},
        "schedule": {"type": "constant", "warmup_steps": "0"},
        "precision": {"compute": "fp32"},
        "parallel": {"bucket_mb": 25},
        "eval": {"every": "0"},
    }


class Peer:
    """PyTorch in Python: a variant's processes, one a rank, kept between rounds."""

    def __init__(self, python: str, environment: dict, case_file: str, ranks: int, variant: str, log):
        program = str(pathlib.Path(__file__).with_name("peer.py"))
        self.processes = [
            subprocess.Popen([python, program, case_file, str(rank), variant], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
            for rank in range(ranks)
        ]
        self.ready_seconds = max(self._answer(process)["ready"] for process in self.processes)

    @staticmethod
    def _answer(process: subprocess.Popen) -> dict:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the PyTorch process ended by itself")
        return json.loads(line)

    def run(self, steps: int) -> dict:
        for process in self.processes:
            process.stdin.write(json.dumps({"steps": steps}) + "\n")
            process.stdin.flush()
        told = [self._answer(process) for process in self.processes]
        return {"seconds": told[0]["seconds"],
                "processor": [sum(spent) for spent in zip(*(t["processor"] for t in told))],
                "losses": [statistics.fmean(losses) for losses in zip(*(t["losses"] for t in told))]}

    def close(self) -> None:
        for process in self.processes:
            process.stdin.close()
            process.wait(timeout=ours.PATIENCE_SECONDS)


class Bench:
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options, self.folder = options, folder
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"
        self.python, self.environment = python_torch.environment(pathlib.Path(options.libtorch), cache,
                                                                    options.same_mkl)
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.cores = sorted(os.sched_getaffinity(0))
        self.disagree = False

    def measure(self, name: str, ranks: int) -> None:
        case = {**MODELS[name], "ranks": ranks, "threads": len(self.cores) if ranks == 1 else 1,
                "cores": [self.cores] if ranks == 1 else [[self.cores[r % len(self.cores)]] for r in range(ranks)],
                "lr": LEARNING_RATE}
        folder = self.folder / f"{name}-{ranks}"
        folder.mkdir()
        steps = self.options.steps or case["steps"]
        tokens = case["batch"] * case["length"] * ranks
        write_shard(folder / "train.bin", case["model"]["vocab_size"], steps * tokens + 1)
        spec = spec_of(case, steps)
        gang = ours.Gang(self.options.dttrain, case["threads"], case["cores"], self.log)
        case["shard"], case["meeting"] = str(folder / "train.bin"), str(folder / "meet-")
        case["weights"] = ours.initial_weights(gang, spec, str(folder), str(folder))
        case_file = folder / "case.json"
        case_file.write_text(json.dumps(case))
        runs = {"dttrain": lambda: gang.run(spec, str(folder))}
        peers = {}
        for variant in ["eager"] + ([] if self.options.no_compile else COMPILED):
            peer = Peer(self.python, self.environment, str(case_file), ranks, variant, self.log)
            peers["PyTorch " + variant] = peer
            runs["PyTorch " + variant] = lambda peer=peer: peer.run(steps)
        told = {variant: [] for variant in runs}
        order = list(runs)
        for turn in range(self.options.rounds):
            for variant in order[turn % len(order):] + order[: turn % len(order)]:
                told[variant].append(runs[variant]())
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
    parser.add_argument("--models", default="tiny_transformer,small_gpt", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--ranks", default="1,2", help="numbers of ranks")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help=f"of a round; the first {WARM_UP_STEPS} do not count")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--same-mkl", action="store_true",
                        help="have PyTorch's MKL go by the processor and not by its maker too, as dttrain has it")
    options = parser.parse_args()
    if unknown := set(options.models.split(",")) - set(MODELS):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    if options.rounds < 1 or (options.steps and options.steps <= WARM_UP_STEPS):
        parser.error(f"--rounds is at least 1 and --steps at least {WARM_UP_STEPS + 1}")
    return options


def main() -> int:
    options = parse()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="training_bench-") as folder:
        try:
            bench = Bench(options, pathlib.Path(folder))
        except python_torch.Absent as why:
            print(f"training_bench: no PyTorch in Python to compare with: {why}", file=sys.stderr)
            return 2
        print(f"{'':36} {'':5} {'':34} {'':8} {'processor':>9} {'':9} {'dttrain is faster':>19}\n"
              f"{'model':36} {'ranks':>5} {'variant':34} {'ms/step':>8} {'ms/step':>9} {'tokens/s':>9} {'by time':>8} "
              f"{'processor':>10} {'loss apart':>10}", flush=True)
        try:
            for name in options.models.split(","):
                for ranks in options.ranks.split(","):
                    bench.measure(name, int(ranks))
        except RuntimeError as error:
            bench.log.flush()
            print((pathlib.Path(folder) / "log").read_text(encoding="utf-8")[-4000:], file=sys.stderr)
            print(f"training_bench: {error}; above is what the processes said last", file=sys.stderr)
            return 1
    print(f"{time.monotonic() - begin:.0f} s")
    if bench.disagree:
        print(f"training_bench: losses differ by more than {LOSS_TOLERANCE}", file=sys.stderr)
    return int(bench.disagree)


sys.exit(main())
