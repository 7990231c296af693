"""Every strategy of dttrain, compared with PyTorch's own, on 2 and 4 CPU ranks: costs and losses.

Catalogue, for each number of ranks: ddp against DDP; precision.reduce bf16 and parallel.compression powersgd against
DDP's hooks; zero1 against ZeroRedundancyOptimizer; zero2, zero3 and (on 4 ranks) hsdp of 2 x 2 against FSDP2, these
and ddp both in shared memory and over Gloo; a pipeline with a stage for each rank against
torch.distributed.pipelining, both 1F1B with twice as many micro-batches; tensor, with sequences cut, against DTensor
by parallelize_module; fp16 sums, topk, local_sgd and gossip alone (compression auto sends fp32 for longer than a
round). Each contest has the same LibTorch, model, initial weights and tokens in fp32; its variants take turns, round
by round, and every round trains the same steps from the initial weights.

tokens/s: of all ranks, the median over rounds of a round's mean; held, peak: bytes of tensors after a step and the
most within one, process: the peak memory of a process (VmHWM), each for the rank with the most, in MB; sent: MB that
a rank passes to TCP sockets in a step, on average, counted for both at the calls that write to them; exposed: part of
a step in which a rank waits for others, – if it cannot be measured; loss: of the last step; apart: the largest
difference of a step's loss from that of dttrain's ddp, and of PyTorch's from that of dttrain's row above it.

Exits with 1 when losses differ by more than the tolerance, if there is one; with 2, and the reason, when Python has
no PyTorch here.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "training"))
import models  # noqa: E402
import ours  # noqa: E402
import python_torch  # noqa: E402
import theirs  # noqa: E402
import turns  # noqa: E402

# Steps omitted from all results, since both trainers start slowly: buckets are laid out, and PyTorch's PowerSGD
# begins. Ranks of local_sgd average as often.
WARM_UP_STEPS = 4
MEGA = 1e6


@dataclasses.dataclass(frozen=True)
class Ours:
    name: str
    fields: dict[str, dict] = dataclasses.field(default_factory=dict)  # of the specification, by section
    flags: tuple[str, ...] = ()
    layers_a_rank: int = 1  # layers that each rank needs


@dataclasses.dataclass(frozen=True)
class Contest:
    word: str  # for --strategies and parallel_peer.py
    ours: list[Ours]
    theirs: str = ""  # PyTorch's name for it; empty: it has none
    # Allowed difference of losses: dttrain's from its ddp's, PyTorch's from dttrain's. None: not checked.
    apart: float | None = None
    ranks_min: int = 2
    note: str = ""


# Placeholders in a contest's fields: the number of ranks, and the bench's number for a pipeline.
RANKS, MICRO_BATCHES = "ranks", "micro-batches"


def _parallel(**fields) -> dict[str, dict]:
    return {"parallel": fields}


def _either_way(name: str, fields: dict[str, dict] | None = None) -> list[Ours]:
    """Both in shared memory of a host's ranks, and over Gloo, as between hosts."""
    return [Ours(name, fields or {}), Ours(f"{name} over Gloo", fields or {}, ("--all-reduce", "gloo"))]


CONTESTS = [
    # 1e-5 and 2e-5 for hsdp: the difference that another order of sums may cause; bf16: three times the measured one.
    Contest("ddp", _either_way("ddp"), "DDP", 1e-5,
            note="dttrain's gradients lie in memory that the ranks of a host share; it is not among its tensors"),
    Contest("bf16", [Ours("reduce bf16", {"precision": {"reduce": "bf16"}})], "DDP, bf16 hook", 3e-4,
            note="PyTorch's hook sums in bf16, dttrain rounds what travels and sums in fp32"),
    Contest("fp16", [Ours("reduce fp16", {"precision": {"reduce": "fp16"}})], apart=3e-4,
            note="PyTorch's fp16 hook sums in fp16, which overflows; so there is no comparison"),
    Contest("powersgd", [Ours("powersgd", _parallel(compression="powersgd"))], "DDP, PowerSGD hook",
            note="losses differ: PyTorch's begins with two uncompressed steps and with another Q, and takes a bucket's "
                 "matrices together; dttrain sends its last step uncompressed, for a checkpoint (not counted in sent)"),
    Contest("topk", [Ours("topk", _parallel(compression="topk"))], note="PyTorch has none to compare with"),
    Contest("zero1", _either_way("zero1", _parallel(strategy="zero1")), "ZeroRedundancyOptimizer", 1e-5,
            note="PyTorch's holds DDP's gradients as well, and sends updated parameters by broadcasts"),
    Contest("zero2", _either_way("zero2", _parallel(strategy="zero2")), "FSDP2, keeps in forward", 1e-5,
            note="PyTorch's gathers parameters in the forward pass and drops them after the backward pass, dttrain's "
                 "gathers them after the update"),
    Contest("zero3", _either_way("zero3", _parallel(strategy="zero3")), "FSDP2", 1e-5,
            note="FSDP2 sends more on CPUs: Gloo's reduce-scatter is an all-reduce within, dttrain's is an all-to-all; "
                 "dttrain's peak is higher, since it gathers the next layer and sends the last one's gradients while "
                 "it computes"),
    Contest("hsdp", _either_way("hsdp 2 x 2", _parallel(strategy="hsdp", shard=2)), "FSDP2, 2 x 2 mesh", 2e-5,
            ranks_min=4),
    Contest("pipeline", [Ours("pipeline", _parallel(pipeline=RANKS, microbatches=MICRO_BATCHES)),
                         Ours("pipeline, interleaved", _parallel(pipeline=RANKS, microbatches=MICRO_BATCHES,
                                                                 schedule="interleaved"), layers_a_rank=2)],
            "pipelining, 1F1B", 1e-5,
            note="a step's tokens in other micro-batches than ddp's, which rounds otherwise; PyTorch leaves to the "
                 "person the matrix that both ends have and the norm of all stages, which the bench does for it"),
    Contest("tensor", [Ours("tensor", _parallel(tensor=RANKS))], "DTensor, parallelize_module", 1e-4,
            note="the ranks train on the same sequences, so they have as many micro-steps as ranks"),
    Contest("local_sgd", [Ours(f"local_sgd {WARM_UP_STEPS}",
                  {**_parallel(strategy="local_sgd", sync_every=WARM_UP_STEPS), "logging": {"every": WARM_UP_STEPS}})],
            note="each rank steps by its own gradient, so losses are not ddp's; PyTorch's post-local SGD averages "
                 "parameters without moments: another result"),
    Contest("gossip", [Ours("gossip", _parallel(strategy="gossip"))],
            note="PyTorch has none to compare with; losses are not ddp's"),
]


@dataclasses.dataclass
class Figures:
    seconds: float  # of a step
    exposed: float  # part of them
    held: float
    peak: float
    process: float
    sent: float
    losses: list[float]


class Wire:
    """Counts bytes that processes pass to TCP sockets, with wire_count.cc."""

    def __init__(self, counts: pathlib.Path, folder: pathlib.Path):
        self.folder = folder
        folder.mkdir()
        self.library = counts / "wire_count.so"

    def environment(self, preloaded: str = "") -> dict[str, str]:
        return {"LD_PRELOAD": ":".join(filter(None, [preloaded, str(self.library)])),
                "WIRE_COUNT_FOLDER": str(self.folder)}

    def sent_by(self, processes) -> int:
        """Returns the bytes of all of them so far."""
        return sum(int.from_bytes((self.folder / str(process.pid)).read_bytes(), sys.byteorder)
                   for process in processes)


class Bench:
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options, self.folder = options, folder
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"
        self.python, self.environment = python_torch.environment(pathlib.Path(options.libtorch), cache,
                                                                 options.same_mkl, "cpu")
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.wire = Wire(pathlib.Path(options.counts), folder / "wire")
        self.cores = sorted(os.sched_getaffinity(0))
        self.model = models.BYTE_GPT if options.quick else models.DEEP_GPT
        self.batch, self.length = (4, 64) if options.quick else (2, 128)
        self.problems: list[str] = []

    def spec(self, ranks: int, steps: int, fields: dict[str, dict]) -> dict:
        spec = models.spec_of(self.model, batch=self.batch, length=self.length, steps=steps)
        spec["resources"]["gpus"] = ranks
        for section, values in fields.items():
            spec[section].update({name: ranks if value == RANKS else value for name, value in values.items()})
        # All variants train on the same number of tokens a step.
        if spec["parallel"]["tensor"] > 1 or spec["parallel"]["pipeline"] > 1:
            spec["train"]["global_batch_size"] = self.batch * ranks
        if spec["parallel"]["microbatches"] == MICRO_BATCHES:
            spec["parallel"]["microbatches"] = 2 * ranks
            spec["train"]["batch_size"] = self.batch // 2
        return spec

    def gang(self, ranks: int, flags: tuple[str, ...] = ()) -> ours.Gang:
        return ours.Gang(self.options.dttrain, 1, self.cores_of(ranks), self.log, flags=flags,
                         environment=self.wire.environment())

    def cores_of(self, ranks: int) -> list[list[int]]:
        return [[self.cores[rank % len(self.cores)]] for rank in range(ranks)]

    def catalogue(self) -> int:
        begin = time.monotonic()
        print(f"{'ranks':>5} {'strategy':36} {'tokens/s':>9} {'faster':>7} {'held':>7} {'peak':>7} "
              f"{'process':>7} {'sent':>8} {'exposed':>7} {'loss':>8} {'apart':>8}", flush=True)
        for ranks in map(int, self.options.ranks.split(",")):
            self.measure(ranks)
        for number, contest in enumerate(CONTESTS, 1):
            if contest.note and contest.word in self.options.chosen:
                print(f"[{number}] {contest.note}")
        parameters = self.parameters / MEGA
        print(f"{parameters:.2f}M parameters, {self.batch} x {self.length} tokens a rank, {self.options.steps} steps, "
              f"{self.options.rounds} rounds, {len(self.cores)} cores; {time.monotonic() - begin:.0f} s")
        for problem in self.problems:
            print(f"parallel_bench: {problem}", file=sys.stderr)
        return int(bool(self.problems))

    def measure(self, ranks: int) -> None:
        place = self.folder / str(ranks)
        place.mkdir()
        tokens = self.batch * self.length * ranks
        models.write_shard(place / "train.bin", self.model["vocab_size"], self.options.steps * tokens + 1)
        gang = self.gang(1)
        weights = ours.initial_weights(gang, self.spec(1, 1, {}), str(place), str(place))
        gang.close()
        case = {"model": self.model, "batch": self.batch, "length": self.length, "accumulate": 1, "ranks": ranks,
                "threads": 1, "cores": self.cores_of(ranks), "device": "cpu", "precision": "fp32",
                "lr": models.LEARNING_RATE, "rank": self.spec(ranks, 1, {})["parallel"]["rank"],
                "shard": str(place / "train.bin"), "weights": weights, "meeting": str(place / "meet-"),
                "blocks": blocks_of_stages(self.model, ranks), "microbatches": 2 * ranks,
                "tensor_count": str(pathlib.Path(self.options.counts) / "peer_tensors.so")}
        (place / "case.json").write_text(json.dumps(case))
        with open(weights, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self.parameters = (os.path.getsize(weights) - 8 - size) // 4
        whole: list[float] = []  # losses of dttrain's ddp
        for number, contest in enumerate(CONTESTS, 1):
            if ranks < contest.ranks_min or contest.word not in self.options.chosen:
                continue
            figures, failed = self.hold(contest, ranks, place)
            whole = whole or figures[contest.ours[0].name].losses
            self.report(number, contest, ranks, figures, failed, whole)
        shutil.rmtree(place)

    def hold(self, contest: Contest, ranks: int, place: pathlib.Path) -> tuple[dict[str, Figures], str]:
        """The results of all, and why there are none of PyTorch."""
        trains, processes, peer = {}, {}, None
        mine = [one for one in contest.ours if one.layers_a_rank * ranks <= self.model["n_layer"]]
        gangs = {one.name: self.gang(ranks, one.flags) for one in mine}
        try:
            for one in mine:
                gang = gangs[one.name]
                trains[one.name] = lambda steps, gang=gang, one=one: gang.run(self.spec(ranks, steps, one.fields),
                                                                              str(place))
                processes[one.name] = [rank.process for rank in gang.ranks]
            if contest.theirs:
                environment = {**self.environment, **self.wire.environment(self.environment.get("LD_PRELOAD", ""))}
                peer = theirs.Peer(self.python, environment, str(place / "case.json"), ranks, contest.word,
                                   self.log, HERE / "parallel_peer.py")
                if not peer.failed:
                    trains[contest.theirs] = peer.run
                    processes[contest.theirs] = peer.processes
            steps = self.options.steps
            told = turns.in_turns({name: lambda train=train: train(steps) for name, train in trains.items()},
                                  self.options.rounds)
            figures = {}
            for name, train in trains.items():
                sent = self.sent(train, processes[name], steps) / ranks
                of = figures_of_theirs if name == contest.theirs else figures_of_ours
                figures[name] = of(told[name], sent)
            return figures, peer.failed if peer else ""
        finally:
            for each in [*gangs.values(), *filter(None, [peer])]:
                each.close()

    def sent(self, train, processes, steps: int) -> float:
        """Returns the bytes of a step of all ranks together: the difference between a run of many steps and one of few,
        which have the same start and end."""
        seen = [self.wire.sent_by(processes)]
        for count in (WARM_UP_STEPS, steps):
            train(count)
            seen.append(self.wire.sent_by(processes))
        return ((seen[2] - seen[1]) - (seen[1] - seen[0])) / (steps - WARM_UP_STEPS)

    def report(self, number: int, contest: Contest, ranks: int, figures: dict[str, Figures], failed: str,
               whole: list[float]) -> None:
        tokens = self.batch * self.length * ranks
        mine = figures[contest.ours[0].name]
        for name, one in figures.items():
            is_theirs = name == contest.theirs
            faster = f"{one.seconds / mine.seconds:6.2f}x" if is_theirs else ""
            against = mine.losses if is_theirs else whole
            apart = max((abs(a - b) for a, b in zip(one.losses, against)), default=0.0)
            judged = contest.apart is not None
            if judged and not (apart <= contest.apart and len(one.losses) == len(against)):
                self.problems.append(f"on {ranks} ranks losses of {name} are {apart:.1e} apart, more than "
                                     f"{contest.apart:.0e}")
            title = f"{'  PyTorch ' if is_theirs else ''}{name}" + (f" [{number}]" if contest.note else "")
            print(f"{ranks:5} {title:36} {tokens / one.seconds:9,.0f} {faster:>7} {one.held / MEGA:7.1f} "
                  f"{one.peak / MEGA:7.1f} {one.process / MEGA:7.0f} {one.sent / MEGA:8.3f} "
                  f"{share_of(one.exposed, one.seconds):>7} {one.losses[-1]:8.5f} "
                  f"{f'{apart:8.1e}' if judged else '':>8}", flush=True)
        if failed:
            print(f"{ranks:5}   PyTorch {contest.theirs}: {failed}", flush=True)


def share_of(part: float, whole: float) -> str:
    return "–" if math.isnan(part) else f"{100 * part / whole:.1f}%"


def blocks_of_stages(model: dict, stages: int) -> list[int]:
    """Assigns layers as dttrain does (plan/stages.cc): the last stage also has the head."""
    layers, width = model["n_layer"], model["n_embd"]
    head = model["vocab_pad"] / (4 * width + 2 * model["n_ff"])
    others = stages - 1
    last = min(range(1, layers - others + 1), key=lambda n: (max(n + head, -(-(layers - n) // others)), -n))
    even, left = divmod(layers - last, others)
    return [even + (stage >= others - left) for stage in range(others)] + [last]


def figures_of_ours(rounds: list[dict], sent: float) -> Figures:
    def rows(told: dict) -> list[dict]:
        return [row for row in told["rows"] if row["step"] > WARM_UP_STEPS]

    return Figures(
        seconds=statistics.median(statistics.fmean(row["seconds"] / row["steps"] for row in rows(told))
                                  for told in rounds),
        exposed=statistics.median(statistics.fmean(row["comm_exposed_seconds"] for row in rows(told))
                                  for told in rounds),
        held=max(row["tensor_held_bytes"] for told in rounds for row in rows(told)),
        peak=max(row["tensor_peak_bytes"] for told in rounds for row in rows(told)),
        process=max(told["memory"] for told in rounds), sent=sent, losses=rounds[0]["losses"])


def figures_of_theirs(rounds: list[dict], sent: float) -> Figures:
    def of_all(told: dict, what: str) -> list[float]:
        return [value for rank in told["ranks"] for value in rank[what][WARM_UP_STEPS:]]

    return Figures(
        seconds=statistics.median(statistics.fmean(told["seconds"][WARM_UP_STEPS:]) for told in rounds),
        exposed=statistics.median(statistics.fmean(of_all(told, "exposed")) for told in rounds),
        held=max(value for told in rounds for value in of_all(told, "held")),
        peak=max(value for told in rounds for value in of_all(told, "peak")),
        process=max(told["memory"] for told in rounds), sent=sent, losses=rounds[0]["losses"])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="parallel_bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for hidden in ("--dttrain", "--libtorch", "--counts"):
        parser.add_argument(hidden, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks")
    parser.add_argument("--strategies", default="",
                        help=f"of {', '.join(contest.word for contest in CONTESTS)}, besides ddp; all")
    parser.add_argument("--rounds", type=int, default=0, help="3; with --quick 1")
    parser.add_argument("--steps", type=int, default=0,
                        help=f"of a round, a multiple of {WARM_UP_STEPS}: 12; with --quick 8. The first "
                             f"{WARM_UP_STEPS} do not count")
    parser.add_argument("--quick", action="store_true", help="a model of 0.8M parameters in place of one of 6.4M")
    parser.add_argument("--same-mkl", action="store_true",
                        help="have PyTorch's MKL go by the processor and not by its maker too, as dttrain has it")
    options = parser.parse_args()
    words = {contest.word for contest in CONTESTS}
    options.chosen = {"ddp", *options.strategies.split(",")} if options.strategies else words
    if options.chosen - words:
        parser.error(f"no strategy {', '.join(sorted(options.chosen - words))}; there are {', '.join(sorted(words))}")
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.steps = options.steps or (8 if options.quick else 12)
    if options.rounds < 1 or options.steps <= WARM_UP_STEPS or options.steps % WARM_UP_STEPS != 0:
        parser.error(f"--rounds is at least 1 and --steps a multiple of {WARM_UP_STEPS} above it")
    if any(not ranks.isdigit() or int(ranks) < 2 or int(ranks) % 2 for ranks in options.ranks.split(",")):
        parser.error(f"--ranks {options.ranks}: even numbers with commas, such as 2,4")
    return options


def main() -> int:
    options = parse()
    with tempfile.TemporaryDirectory(prefix="parallel_bench-") as name:
        folder = pathlib.Path(name)
        try:
            bench = Bench(options, folder)
        except python_torch.Absent as why:
            print(f"parallel_bench: no PyTorch in Python to compare with: {why}", file=sys.stderr)
            return 2
        try:
            return bench.catalogue()
        except (RuntimeError, theirs.Failed) as error:
            bench.log.flush()
            print((folder / "log").read_text(encoding="utf-8")[-4000:], file=sys.stderr)
            print(f"parallel_bench: {error}; above is what the processes said last", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
