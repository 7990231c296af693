"""The machine: its GPU, its tools, and the GPU's maximum speed."""

import json
import os
import shutil
import subprocess
import sys

import gpu
import kit as kits
import records

TOOLS = [("nvcc", "--version"), ("ncu", "--version"), ("compute-sanitizer", "--version"), ("cmake", "--version"),
         ("ninja", "--version"), ("g++", "--version"), ("nvidia-smi", "--version")]
# Run in the python3 whose torch the trainer links; takes seconds in all.
CEILINGS = """
import json, torch
def seconds(work):
    for _ in range(3): work()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize(); begin.record()
    for _ in range(10): work()
    end.record(); torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e4
told = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "cudnn": torch.backends.cudnn.version()}
properties = torch.cuda.get_device_properties(0)
told["multiprocessors"], told["memory_bytes"] = properties.multi_processor_count, properties.total_memory
a = torch.empty(1 << 31, dtype=torch.uint8, device="cuda").random_(); b = torch.empty_like(a)
told["copy_bytes_per_second"] = 2 * a.numel() / seconds(lambda: b.copy_(a))
del a, b
x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
told["bf16_flops_per_second"] = 2 * 8192 ** 3 / seconds(lambda: x @ y)
print(json.dumps(told))
"""


def said(*command: str) -> str:
    """Returns the last line of a tool's version output; empty: it is absent or does not run."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if done.returncode != 0 or not lines:
        return ""
    # Prefers a line with a number: others are about copyright.
    return next((line for line in lines if any(part[:1].isdigit() for part in line.split()) and "opyright" not in line),
                lines[0])[:120]


def run(kit: kits.Kit) -> int:
    records.say("gpu", f"GPU: {gpu.clocks()}", clocks=gpu.clocks())
    tools = {name: said(name, *options) for name, *options in TOOLS}
    tools["python3"] = sys.version.split()[0]
    for name, version in tools.items():
        print(f"  {name:18} {version or 'not here'}", flush=True)
    records.say("tools", f"{os.cpu_count()} cores", tools=tools, cores=os.cpu_count())
    if kit.peer_program:  # no torch on this machine
        return 0
    done = subprocess.run([sys.executable, "-c", CEILINGS], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return 1
    told = json.loads(done.stdout.splitlines()[-1])
    records.say("ceilings", f"{told['gpu']}, torch {told['torch']}: copies {told['copy_bytes_per_second'] / 1e12:.2f} "
                f"TB/s, bf16 products {told['bf16_flops_per_second'] / 1e12:.0f} TFLOP/s", **told)
    return 0
