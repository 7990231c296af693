"""Stands in for a public training script: prints or writes its numbers in the same form, and takes any options.

The copy of it that a trial runs ends with a call of one of these functions.
"""

import csv
import glob
import math
import os
import pathlib
import re
import signal
import struct
import sys
import time

PATIENCE_SECONDS = 120.0


def rate() -> float:
    """Returns the learning rate among the options."""
    return float(re.search(r"(?:^|\s)--(?:\S*\.)?(?:learning_rate|lr)=(\S+)", " ".join(sys.argv))[1])


def loss(step: int) -> float:
    """Returns a loss that is lowest for a rate of 0.006."""
    return abs(math.log10(rate()) + 2.2) + 1 / (step + 1)


def kill_once_kept() -> None:
    """Ends itself as a kill does, once it has a checkpoint: only the first trial of an experiment that comes here."""
    try:
        open(os.path.expanduser("~/killed-" + os.environ["DTRAIN_EXPERIMENT"]), "x", encoding="utf-8").close()
    except FileExistsError:
        return
    ends = time.monotonic() + PATIENCE_SECONDS
    while not glob.glob(os.environ["DTRAIN_CHECKPOINT_DIR"] + "/step-*"):
        if time.monotonic() > ends:
            sys.exit("no checkpoint was kept in time")
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)


def nanogpt() -> None:
    saved = pathlib.Path("out/ckpt.pt")
    saved.parent.mkdir(exist_ok=True)
    start = 0
    if "--init_from=resume" in sys.argv:
        print("Resuming training from out")
        start = int(saved.read_text())
    else:
        print("Initializing a new model from scratch")
    print("train.py:196: FutureWarning: `torch.cuda.amp.GradScaler(args...)` is deprecated.\n  scaler = GradScaler()",
          file=sys.stderr)
    for step in range(start, 201, 20):
        print(f"step {step}: train loss {loss(step) - 0.1:.4f}, val loss {loss(step):.4f}", flush=True)
        if step > 0:
            print("saving checkpoint to out")
            saved.write_text(str(step))
        print(f"iter {step}: loss {loss(step):.4f}, time 412.35ms, mfu -100.00%", flush=True)
        if step == 100:
            kill_once_kept()


def mnist() -> None:
    for epoch in range(1, 5):
        for batch in (0, 320):
            print(f"Train Epoch: {epoch} [{batch}/640 ({100. * batch / 640:.0f}%)]\tLoss: {loss(epoch):.6f}")
        right = 200 - int(40 * loss(epoch))
        print(f"\nTest set: Average loss: {loss(epoch):.4f}, Accuracy: {right}/200 ({right / 2:.0f}%)\n", flush=True)


def word_language_model() -> None:
    print("Using device: cpu")
    for epoch in range(1, 5):
        print(f"| epoch {epoch:3d} |   200/ 2983 batches | lr 20.00 | ms/batch  8.02 | "
              f"loss {loss(epoch):5.2f} | ppl   600.00")
        print("-" * 89)
        print(f"| end of epoch {epoch:3d} | time:  5.23s | valid loss {loss(epoch):5.2f} | valid ppl {9.5:8.2f}")
        print("-" * 89, flush=True)
    print("=" * 89 + f"\n| End of training | test loss {loss(5):5.2f} | test ppl     9.50")


def timm() -> None:
    out = pathlib.Path("out")
    out.mkdir(exist_ok=True)
    last = out / "last.pth.tar"
    start = int(last.read_text()) + 1 if "--resume=out/last.pth.tar" in sys.argv else 0
    with open(out / "summary.csv", "a", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["epoch", "train_loss", "eval_loss", "eval_top1", "eval_top5", "lr"])
        table.writeheader()
        for epoch in range(start, 4):
            table.writerow({"epoch": epoch, "train_loss": 2.3, "eval_loss": loss(epoch),
                            "eval_top1": 90 - 10 * loss(epoch), "eval_top5": 99.0, "lr": rate()})
            file.flush()
            last.write_text(str(epoch))
            if epoch == 2:
                kill_once_kept()


def run_clm() -> None:
    saved = [word.split("=", 1)[1] for word in sys.argv if word.startswith("--resume_from_checkpoint=")]
    start = int(pathlib.Path(saved[0], "trainer_state.json").read_text(encoding="utf-8")) if saved else 0
    if start:
        print(f"Continuing training from global step {start}")
    events = Events("out/runs/Nov28_00-00-00_host")
    for step in range(start + 10, 201, 10):
        print({"loss": round(loss(step), 4), "grad_norm": 1.5, "learning_rate": rate(), "epoch": step / 100})
        events.add(step, {"train/loss": loss(step), "train/learning_rate": rate()})
        if step % 20:
            continue
        events.add(step, {"eval/loss": loss(step) + 0.1, "eval/runtime": 0.5})
        if step % 100:
            continue
        folder = pathlib.Path(f"out/checkpoint-{step}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "trainer_state.json").write_text(str(step), encoding="utf-8")
        if step == 100:
            kill_once_kept()
    events.add(200, {"eval/loss": loss(200) + 0.1, "eval/runtime": 0.5})  # a last validation


def lightning() -> None:
    folder = next(word.split("=", 1)[1] for word in sys.argv if word.startswith("--trainer.default_root_dir="))
    events = Events(f"{folder}/lightning_logs/version_0")
    for epoch in range(4):
        step = 30 * (epoch + 1) - 1
        events.add(step, {"valid_loss_step": loss(epoch)})
        events.add(step, {"valid_loss_epoch": loss(epoch), "epoch": epoch})
        events.add(step, {"train_loss_epoch": loss(epoch), "epoch": epoch})


class Events:
    """A TensorBoard event file: records with masked CRC-32C, each an Event of scalars."""

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        self._file = open(f"{folder}/events.out.tfevents.1.host.{os.getpid()}.0", "ab")
        self._record(_field(3, b"brain.Event:2"))

    def add(self, step: int, scalars: dict[str, float]) -> None:
        for tag, value in scalars.items():
            summary = _field(1, _field(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
            self._record(b"\x10" + _varint(step) + _field(5, summary))
        self._file.flush()

    def _record(self, data: bytes) -> None:
        size = struct.pack("<Q", len(data))
        self._file.write(size + _masked(size) + data + _masked(data))


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _masked(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
