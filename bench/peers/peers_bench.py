"""dtrain beside HyperQueue, Ray, Ray Tune and Optuna, in one run on one machine, in turns.

Catalogue:
- programs: 10,000 tasks that do nothing, on two one-core workers: tasks/s, the processor time of a task, memory;
- waiting: the same rate while 10,000 further tasks wait behind them;
- latency: from the submission of a lone task to the start of its program, on an idle pool and beside a long queue;
- reports: trials that report ten values each.

Each figure is the median of three rounds; within a round the systems take turns. dtrain keeps every record with fsync
throughout. A system that is not installed is named and left out; `./dev setup --peers` installs all of them.
"""

import argparse
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from figures import machine  # noqa: E402
from measures import NOT_INSTALLED  # noqa: E402

OURS = "dtrain_peer.py"


class Row(NamedTuple):
    label: str
    file: str
    variant: str = "plain"


class Table(NamedTuple):
    title: str
    measure: str
    columns: dict[str, str]  # title by figure
    rows: list[Row]
    more: list[str]  # options, of the table's size


POOLS = [Row("dtrain", OURS), Row("HyperQueue", "hyperqueue_peer.py"), Row("Ray", "ray_peer.py")]


def tables(tiny: bool, count: int, trials: int) -> dict[str, Table]:
    """Returns the tables by name."""
    waiting = 100 if tiny else 10_000
    samples = 5 if tiny else 100
    costs = {"rate": "tasks/s", "server_us": "server, µs of processor a task",
             "workers_us": "workers and their programs, µs a task", "server_mib": "server, MiB",
             "workers_mib": "workers, MiB", "server_and_workers_mib": "both, MiB"}
    others = [Row("HyperQueue, output in files", "hyperqueue_peer.py", "files"),
              Row("Ray, functions", "ray_peer.py", "functions")]
    return {
        "programs": Table(f"{count:,} programs that do nothing", "programs", costs, [*POOLS, *others],
                          ["--count", str(count)]),
        "waiting": Table(f"the same while {waiting:,} more wait", "programs", costs, POOLS,
                         ["--count", str(count), "--waiting", str(waiting)]),
        "latency": Table(f"from submission to start, ms, lone tasks, {samples} of each kind", "latency",
                         {"idle_p50": "idle p50", "idle_p99": "idle p99", "busy_p50": "busy p50",
                          "busy_p99": "busy p99", "busy_samples": "samples when busy"},
                         POOLS, ["--samples", str(samples), "--count", str(count)]),
        "reports": Table(f"{trials} trials of ten reports", "reports", {"rate": "trials/s"},
                         [POOLS[0], Row("Ray Tune", "ray_peer.py", "tune"),
                          Row("dtrain, a study", OURS, "study"), Row("Optuna, SQLite", "optuna_peer.py"),
                          Row("Optuna, its journal", "optuna_peer.py", "journal")], ["--count", str(trials)]),
    }


class Runner:
    """Runs rows by the Python that has the peers' packages."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.missing: dict[str, str] = {}  # why, by file
        self.told: dict[str, tuple[str, str, list[str]]] = {}  # version, how, commands, by label
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("DTCTL_", "PYTHON"))}
        self.environment = {**kept, "PYTHONPATH": str(options.wheel), "PYTHONDONTWRITEBYTECODE": "1"}

    def figures(self, table: Table, row: Row) -> dict[str, float] | None:
        """Returns one round's figures; None if the system is not installed."""
        if row.file in self.missing:
            return None
        command = [str(self.options.python), str(HERE / row.file), table.measure, *table.more,
                   "--variant", row.variant, "--programs", str(self.options.programs)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        if done.returncode == NOT_INSTALLED and row.file == OURS:
            raise SystemExit(f"{self.options.python}: {done.stdout.strip()}; ./dev setup makes one that has it")
        if done.returncode == NOT_INSTALLED:
            self.missing[row.file] = f"{done.stdout.strip()}; ./dev setup --peers installs it"
            return None
        if done.returncode != 0 and row.file != OURS:
            self.missing[row.file] = f"exit {done.returncode}: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
            print(f"{shlex.join(command)}: {self.missing[row.file]}", file=sys.stderr)
            return None
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        told = json.loads(done.stdout.splitlines()[-1])
        shown = " ".join(["bench/peers/" + row.file, table.measure, *table.more, "--variant", row.variant])
        commands = self.told.setdefault(row.label, (told["version"], told["how"], []))[2]
        if shown not in commands:
            commands.append(shown)
        return told["figures"]

    def run(self, table: Table, rounds: int) -> None:
        """Makes a table in turns and prints it."""
        found: dict[Row, list[dict[str, float]]] = {row: [] for row in table.rows}
        for number in range(rounds):
            for row in table.rows:
                print(f"{table.title}: round {number + 1} of {rounds}, {row.label}", file=sys.stderr, flush=True)
                figures = self.figures(table, row)
                if figures is not None:
                    found[row].append(figures)
        print(f"\n### {table.title}\n\n| system | {' | '.join(table.columns.values())} |")
        print("|---" * (len(table.columns) + 1) + "|")
        for row, of_rounds in found.items():
            if of_rounds:
                cells = [cell([figures[name] for figures in of_rounds if name in figures]) for name in table.columns]
                print(f"| {row.label} | {' | '.join(cells)} |", flush=True)

    def explain(self) -> None:
        print(f"\n{machine()}; Python {platform.python_version()}; medians of {self.options.rounds}, in turns\n")
        for label, (version, how, commands) in self.told.items():
            print(f"- {label}: {version}. {how}. {', '.join(f'`{command}`' for command in commands)}")
        for file, why in self.missing.items():
            print(f"- left out: {file} ({why})")


def cell(values: list[float]) -> str:
    """Returns the median in three digits; a dash if there is none."""
    if not values:
        return "–"
    middle = statistics.median(values)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.3g}"


def default_python() -> pathlib.Path:
    """Returns the interpreter of ./dev setup --peers, or that of the Python client's tests, or this one."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"
    made = [cache / name / "bin" / "python" for name in ("peers", "python-client")]
    return next((python for python in made if python.exists()), pathlib.Path(sys.executable))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of dtcoord and the others")
    parser.add_argument("--wheel", type=pathlib.Path, help="the Python client (default: the wheel in that folder)")
    parser.add_argument("--python", type=pathlib.Path, default=default_python(),
                        help="an interpreter that has the peers' packages (default: %(default)s)")
    parser.add_argument("--tiny", action="store_true", help="one round of a few tasks, to see that it works")
    parser.add_argument("--count", type=int, help="programs (default: 10,000; tiny: 50)")
    parser.add_argument("--trials", type=int, help="trials with reports (default: 200; tiny: 4)")
    parser.add_argument("--rounds", type=int, help="of each figure (default: 3; tiny: 1)")
    parser.add_argument("--only", nargs="+", help="these tables alone")
    options = parser.parse_args()
    options.wheel = options.wheel or next(options.programs.glob("dtrain-*.whl"), None)
    options.rounds = options.rounds or (1 if options.tiny else 3)
    chosen = tables(options.tiny, options.count or (50 if options.tiny else 10_000),
                    options.trials or (4 if options.tiny else 200))
    for name in options.only or []:
        if name not in chosen:
            parser.error(f"--only: there is no table '{name}'; choose from {', '.join(chosen)}")
    runner = Runner(options)
    for name, table in chosen.items():
        if not options.only or name in options.only:
            runner.run(table, options.rounds)
    runner.explain()


if __name__ == "__main__":
    main()
