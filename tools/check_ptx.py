"""Assembles the PTX kernels in the trainer for the GPUs that they are meant for: no spills, few registers.

usage: check_ptx.py

A spilled register goes through memory at each use; more registers than the bound leave fewer threads on a
multiprocessor than the launch counts on. Without ptxas it does nothing, and prints that.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = sorted((ROOT / "worker/trainer/device/cuda").glob("*.ptx.inc"))
ARCHITECTURES = ["sm_80", "sm_90", "sm_100"]
# 65,536 registers of a multiprocessor, divided by the 1,024 threads of a block and by two blocks at once.
REGISTERS_MAX = 32

ENTRY = re.compile(r"Compiling entry function '(?P<name>\w+)'")
SPILLS = re.compile(r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (?P<count>\d+) registers")


def faults(verbose: str, registers_max: int) -> list[str]:
    """Returns the errors in the kernels that ptxas -v lists; a list without kernels is an error too."""
    found, name, counted = [], "", 0
    for line in verbose.splitlines():
        if match := ENTRY.search(line):
            name = match["name"]
        if (match := SPILLS.search(line)) and (int(match["stores"]) or int(match["loads"])):
            found.append(f"{name} spills {match['stores']} bytes and loads {match['loads']}")
        if match := REGISTERS.search(line):
            counted += 1
            if int(match["count"]) > registers_max:
                found.append(f"{name} uses {match['count']} registers a thread; the bound is {registers_max}")
    return found if counted else ["ptxas told of no kernel"]


def main() -> int:
    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if ptxas is None:
        print("ptxas: not here; the kernels are not assembled")
        return 0
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for kernel in KERNELS:
            text = kernel.read_text(encoding="ascii")
            ptx = pathlib.Path(folder) / kernel.stem
            ptx.write_text(text.split('R"PTX(')[1].split(')PTX"')[0], encoding="ascii")
            for architecture in ARCHITECTURES:
                done = subprocess.run([ptxas, "-v", f"--gpu-name={architecture}", str(ptx), "-o", "/dev/null"],
                                      capture_output=True, text=True, check=False)
                said = done.stdout + done.stderr
                for fault in faults(said, REGISTERS_MAX) if done.returncode == 0 else [said.strip()]:
                    print(f"{kernel.relative_to(ROOT)}: {architecture}: {fault}", file=sys.stderr)
                    wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
