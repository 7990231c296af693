"""Runs our kernels under compute-sanitizer, and reports nvcc's statistics of them for this GPU."""

import re
import shutil
import subprocess
import sys
import time

import kit as kits
import records
import stages

KERNELS = "dtrain_"
SOURCE = kits.ROOT / "worker/trainer/device/cuda/softmax_rows.cu"
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]
# Options that select only our kernels: versions differ, and the rest of LibTorch takes minutes.
FILTERS = [["--kernel-regex", f"kns={KERNELS}"], ["--kernel-name", f"kernel_substring={KERNELS}"],
           ["--filter", f"kernel_substring={KERNELS}"], []]
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.*)")


def compiled() -> None:
    """Returns registers, shared memory and spills of our kernels, as this nvcc compiles their source."""
    if shutil.which("nvcc") is None:
        return
    done = subprocess.run(["nvcc", "-gencode=arch=compute_90,code=sm_90", "-Xptxas", "-v", "-cubin", "-o", "/dev/null",
                           str(SOURCE)], capture_output=True, text=True, check=False)
    used = [line.strip() for line in done.stderr.splitlines() if "Used" in line or "spill" in line]
    records.say("nvcc", f"{SOURCE.name} by nvcc: {'; '.join(used) or done.stderr.strip()[-200:]}", used=used,
                code=done.returncode)


def summary(output: str) -> str:
    found = SUMMARY.findall(output)
    return found[-1].strip() if found else ""


def is_clean(words: str) -> bool:
    return bool(re.match(r"0 (errors|hazards)", words))


def run(kit: kits.Kit) -> int:
    until = time.monotonic() + stages.seconds() - 3
    compiled()
    if shutil.which("compute-sanitizer") is None:
        records.say("sanitizer", "there is no compute-sanitizer here", tool="", summary="", clean=False)
        return 1
    chosen, dirty = list(FILTERS), 0
    for number, tool in enumerate(TOOLS):
        words, output = "", ""
        for filters in list(chosen):
            share = (until - time.monotonic()) / (len(TOOLS) - number)
            try:
                done = subprocess.run(["compute-sanitizer", "--tool", tool, *filters, kit.gpu_test,
                                       f"--gtest_filter={kit.kernel_tests}"], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace", timeout=max(1.0, share),
                                      check=False)
                output = done.stdout
            except subprocess.TimeoutExpired:
                output = f"it was stopped after {share:.0f} s"
                break
            if words := summary(output):
                chosen = [filters]
                break
        print(output[-4000:], file=sys.stderr)
        clean = is_clean(words)
        dirty += not clean
        last = output.strip().splitlines()[-1][:200] if output.strip() else "it said nothing"
        records.say("sanitizer", f"{tool}: {words or last}", tool=tool, summary=words or last, clean=clean,
                    only_ours=bool(words) and bool(chosen[0]))
    return int(dirty > 0)
