"""Functions that the benchmarks in Python share: percentiles, and the machine that their figures are of."""

import math
import os
import pathlib
import platform


def percentile(values: list[float], share: float) -> float:
    """Returns the smallest of the values that so large a share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def machine() -> str:
    """Returns the processor, the memory, the system and what else it has to do."""
    model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{os.cpu_count()} cores ({model}), {memory_gib:.0f} GiB, Linux {platform.release()}, "
            f"load before the run {os.getloadavg()[0]:.1f}")
