"""This machine's GPU: whether there is one, and its clocks, from nvidia-smi.

usage: gpu.py    exits with 0 if the benchmark can run on a GPU; else prints why not, and exits with 77
"""

import shutil
import subprocess
import sys

SKIPPED = 77
CLOCKS = "name,clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu"


def _ask(*arguments: str) -> str:
    """Returns nvidia-smi's first line; empty if there is none."""
    if shutil.which("nvidia-smi") is None:
        return ""
    asked = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, check=False)
    return asked.stdout.strip().partition("\n")[0] if asked.returncode == 0 else ""


def absent() -> str:
    """Returns why there is no GPU here; empty if there is one."""
    if _ask("-L"):
        return ""
    asked = subprocess.run([sys.executable, "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"],
                           capture_output=True, check=False)
    if asked.returncode == 0:
        return ""
    return "there is no GPU here: nvidia-smi lists none, and python3 has no torch that sees one"


def clocks() -> str:
    """Describes the clocks for the log of a run: timings mean little where clocks differ."""
    return _ask(f"--query-gpu={CLOCKS}", "--format=csv,noheader") or "not known: no nvidia-smi"


def main() -> int:
    why = absent()
    if why:
        print(f"training_bench: skipped: {why}", file=sys.stderr)
    return SKIPPED if why else 0


if __name__ == "__main__":
    sys.exit(main())
