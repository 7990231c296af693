"""How soon a gang trains again after something died: two ranks on two hosts of their own, with a spare host, under TLS.

Catalogue, for each strategy (ddp, zero3, tensor, local_sgd, program) and each hit:
- noticed: from the hit to the end of the attempt, or until workers find the moved coordinator; median;
- next step: from the hit to the first step that is committed again; median and the 99th percentile;
- lost steps: made by the attempt that was hit and made again; median;
- useful share: of the time, with a kill each 15, 30 and 60 s: spent in steps that count.
Hits: a trainer, a worker (its host stays), a host (its power), a host cut from all, the pair (both hosts cut from each
other), the coordinator (killed, and started on another host under the same name).

Hosts are namespaces of this machine (tests/hosts), so all share its cores. The model is tiny: a step takes
milliseconds, so that the times are those of dtrain, not of the training.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/hosts"), str(ROOT / "bench")]
import namespaces  # noqa: E402
import recovery  # noqa: E402
from figures import machine, percentile  # noqa: E402
from lab import Lab  # noqa: E402

HITS = (*recovery.HITS, recovery.MOVED)
PERIODS_SECONDS = (15, 30, 60)
KILLS_OF_A_PERIOD = 4  # four minutes at the longest
TINY_PERIOD_SECONDS = 5


def version(programs: pathlib.Path) -> str:
    return subprocess.run([programs / "dtcoord", "--version"], capture_output=True, text=True, timeout=60,
                          check=True).stdout.strip()


def measure_hits(gang: recovery.Gang, hit: str, runs: int) -> list[recovery.Outcome | None]:
    found = []
    for run in range(runs):
        found.append(gang.hit(hit))
        print(f"{hit}, run {run + 1} of {runs}: {found[-1]}", file=sys.stderr, flush=True)
    return found


def hit_row(strategy: str, hit: str, found: list[recovery.Outcome | None]) -> str:
    """Returns a row of the table. A run without an end counts as endless."""
    over = [each for each in found if each is not None]
    if not over:
        return f"| {strategy} | {recovery.WORDS[hit]} | no | never | never | – | 0 of {len(found)} |"
    noticed = [each.detected for each in over if each.detected is not None]
    lost = [each.lost_steps for each in over if each.lost_steps is not None]
    next_steps = [each.next_step for each in over]
    return (f"| {strategy} | {recovery.WORDS[hit]} | {f'{statistics.median(noticed):.1f} s' if noticed else 'no'} | "
            f"{statistics.median(next_steps):.1f} s | {percentile(next_steps, 0.99):.1f} s | "
            f"{statistics.median(lost) if lost else 0:.0f} | {len(over)} of {len(found)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of dtcoord and the others")
    parser.add_argument("--switch", type=pathlib.Path, required=True, help="hosts_switch")
    parser.add_argument("--strategy", default="ddp",
                        help=f"of {', '.join(recovery.STRATEGIES)}, with commas (default: %(default)s)")
    parser.add_argument("--hit", default="trainer,worker,host",
                        help=f"of {', '.join(HITS)}, with commas (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5,
                        help="hits of a kind; at least 3, or 0 for the useful share alone (default: %(default)s)")
    parser.add_argument("--periods", default=",".join(map(str, PERIODS_SECONDS)),
                        help="seconds between kills for the useful share, with commas; empty: none "
                             "(default: %(default)s)")
    parser.add_argument("--checkpoint", default="{every: 50}",
                        help="the file's `checkpoint`; empty: the default (default: %(default)s)")
    parser.add_argument("--tiny", action="store_true", help="one hit of each kind, and one period of 5 s: a rehearsal")
    options = parser.parse_args()
    for name, chosen, known in (("--strategy", options.strategy, recovery.STRATEGIES), ("--hit", options.hit, HITS)):
        if unknown := [each for each in chosen.split(",") if each not in known]:
            parser.error(f"{name}: there is no {', '.join(unknown)}; there are {', '.join(known)}")
    if options.runs in (1, 2) and not options.tiny:
        parser.error("--runs must be at least 3: the table has medians; 0: only the useful share")
    options.programs, options.switch = options.programs.resolve(), options.switch.resolve()
    namespaces.enter()
    run_all(options)
    return 0


@contextmanager
def gang_of(options: argparse.Namespace) -> Iterator[recovery.Gang]:
    with tempfile.TemporaryDirectory(prefix="dtrain-recovery-") as folder:
        with Lab(options.switch, pathlib.Path(folder), recovery.HOSTS) as lab:
            yield recovery.Gang(lab, options.programs)


def run_all(options: argparse.Namespace) -> None:
    runs, kills = (1, 1) if options.tiny else (options.runs, KILLS_OF_A_PERIOD)
    periods = [TINY_PERIOD_SECONDS] if options.tiny else [int(each) for each in options.periods.split(",") if each]
    strategies, hits = options.strategy.split(","), options.hit.split(",")
    print(f"{version(options.programs)}; {machine()}\n"
          f"checkpoint: {options.checkpoint or 'as by default'}; {runs} runs\n")
    if runs:
        print("| strategy | hit | noticed | next step | 99th percentile | lost steps | recovered |\n"
              + "|---" * 7 + "|")
    for strategy in strategies if runs else ():
        with gang_of(options) as gang:
            gang.submit(strategy, checkpoint=options.checkpoint)
            for hit in hits:
                print(hit_row(strategy, hit, measure_hits(gang, hit, runs)), flush=True)
    killed = [hit for hit in hits if hit in recovery.KILLS]
    if not periods or not killed:
        return
    print("\nUseful share of the time:\n\n| strategy | killed | " + " | ".join(f"each {each} s" for each in periods)
          + " |\n|---|---|" + "---|" * len(periods))
    for strategy in strategies:
        with gang_of(options) as gang:
            for hit in killed:
                shares = [gang.useful_share(strategy, hit, each, kills, options.checkpoint) for each in periods]
                print(f"| {strategy} | {recovery.WORDS[hit]} | " + " | ".join(f"{share:.2f}" for share in shares)
                      + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
