"""A user's folder on a machine with the wheel in a virtual environment: for wheel_test and install_bench."""

import os
import pathlib
from collections.abc import Callable

import debian_root

SECONDS = 120
TRAIN = ("version: 1\nname: train\ndata: {train: 'mine/train_*.bin', val: 'mine/val_*.bin', tokenizer: byte}\n"
         "model: {preset: gpt2, n_layer: 1, n_head: 2, n_embd: 16, n_ff: 32, n_positions: 32}\n"
         "train: {seq_len: 32, batch_size: 2, max_steps: 3}\n")


def variables(folder: pathlib.Path, venv: pathlib.Path) -> dict[str, str]:
    """Returns the variables of a user whose home is `folder` and who has activated `venv`."""
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("DTCTL_", "XDG_", "PYTHON", "DTRAIN_", "LD_"))}
    return kept | {"HOME": str(folder), "PATH": f"{venv}/bin:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(folder)}


def runner(folder: pathlib.Path, venv: pathlib.Path) -> Callable[..., str]:
    """Returns a function that runs a command there as that user; it returns the output."""
    environment = variables(folder, venv)
    return lambda *command: debian_root.run(*command, seconds=SECONDS, cwd=folder, env=environment)


def make_corpus(folder: pathlib.Path, run: Callable[..., str]) -> None:
    """Makes the data of TRAIN where workers of `dtctl up` look for them, and train.yaml."""
    (folder / "text").mkdir()
    (folder / "text/words.txt").write_text("to be or not to be, that is the question\n" * 500)
    data = folder / ".local/state/dtrain/local/data/mine"
    run("dtctl", "data", "tokenize", "--tokenizer", "byte", "--output", str(data), "text")
    (folder / "train.yaml").write_text(TRAIN)
