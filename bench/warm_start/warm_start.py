"""How soon the next trial trains: from the end of one trial to the first step of the next, on warm trainers.

Catalogue: examples/quickstart.yaml's model, trials of 30 steps one after another, on 1 rank and on gangs of 2, with
real dtcoord, dtworkers and dttrains on loopback. Times are the coordinator's and the trainers', on one clock. The first
trial, whose trainers may still be starting, is listed separately. A trainer process serves all trials of its worker.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "deploy"))
from live_run import LiveRun  # noqa: E402

FILE = """version: 1
name: warm-{ranks}
seed: 1
parameters: {{optimizer.lr: [{rates}]}}
search: {{method: grid, max_concurrent: 1}}
resources: {{gpus: {ranks}, device: cpu}}
data: {{train: "live/train_*.bin", val: "live/val_*.bin", tokenizer: byte}}
model: {{preset: gpt2, n_layer: 2, n_head: 4, n_embd: 128, n_ff: 512, n_positions: 128}}
train: {{batch_size: 8, seq_len: 128, max_steps: 30}}
eval: {{every: 0, batches: 8}}
"""


def seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def measure(run: LiveRun, ranks: int, trials: int) -> tuple[float, list[float]]:
    """Returns the first trial's time from its placement to its first step, and the others' from the end before."""
    path = run.path / f"warm-{ranks}.yaml"
    path.write_text(FILE.format(ranks=ranks, rates=", ".join(f"{1e-3 + i * 1e-5:.5f}" for i in range(trials))))
    experiment = run.dtctl("submit", str(path), "--id-only").strip()
    run.dtctl("wait", experiment, seconds=60 * trials)
    ends, starts, first_steps = [], [], []
    for number in range(1, trials + 1):
        trial = f"{experiment}/{number}"
        attempt = json.loads(run.dtctl("explain", trial, "-o", "json"))["attempt_list"][-1]
        row = json.loads(run.dtctl("metrics", trial, "-o", "jsonl").splitlines()[0])
        starts.append(seconds(attempt["started_at"]))
        ends.append(seconds(attempt["ended_at"]))
        first_steps.append(seconds(row["logged_at"]))
    return first_steps[0] - starts[0], [first_steps[i] - ends[i - 1] for i in range(1, trials)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of dtcoord and the others")
    parser.add_argument("--trials", type=int, default=8, help="of each kind (default: 8)")
    options = parser.parse_args()
    if options.trials < 2:
        parser.error("--trials must be at least 2: the first one is not warm")
    print("| ranks | next trial's first step after the end before: median, worst | first trial, from its placement |")
    print("|---|---|---|")
    with LiveRun(options.programs) as run:
        run.start_coordinator()
        run.start_workers(2)
        run.make_corpus()
        for ranks in (1, 2):
            first, warm = measure(run, ranks, options.trials)
            print(f"| {ranks} | {statistics.median(warm):.2f} s, {max(warm):.2f} s | {first:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
