"""The kernels of one training step: their numbers from ncu or LibTorch's profiler, and the part of the step that each
belongs to.

Pure. A group of ESTIMATES without a kernel stays empty, and a kernel without a group is `other`: the table shows both.
"""

import csv
import dataclasses
import io
import json
import re


@dataclasses.dataclass
class Kernel:
    name: str
    seconds: float
    bytes: float = 0.0  # of device memory, read and written; 0: unknown


# Milliseconds on an H100 and an H200, estimated before any run, of GPT-2 124M at 64 x 1024 in bf16.
ESTIMATES = {
    "linears forward": (17.4, 16.9), "linears backward": (34.8, 33.7), "head: logits, dX, dW": (24.5, 23.7),
    "softmax_rows": (10.8, 7.6), "attention forward": (4.3, 4.3), "attention backward": (11.5, 11.5),
    "LayerNorm and residual forward": (4.7, 3.3), "LayerNorm and residual backward": (10.3, 8.2),
    "GELU forward": (3.6, 2.5), "GELU backward": (5.4, 3.7), "bias-gradient sums": (4.9, 3.5),
    "cat of dq, dk, dv": (3.0, 2.1), "casts and adds": (2.6, 1.9), "embedding": (1.4, 1.05),
    "norm and AdamW": (1.4, 1.05),
}
OTHER = "other"

_SOFTMAX = re.compile("dtrain_softmax_rows")
_PRODUCT = re.compile("gemm|cutlass|nvjet|cublas|xmma|splitK|ampere_|hopper_", re.I)
_ATTENTION = re.compile("flash|fmha|attention|sdpa|mha", re.I)
_BACKWARD = re.compile("bwd|backward|bprop|grad", re.I)
# The first pattern that matches a name counts; the place in the step tells forward from backward.
_BY_NAME = [
    (re.compile("FusedAdam|fused_adam|multi_tensor|lpnorm|ForeachNorm", re.I), ("norm and AdamW", "norm and AdamW")),
    (re.compile("layer_?norm|GammaBeta", re.I), ("LayerNorm and residual forward", "LayerNorm and residual backward")),
    (re.compile("gelu", re.I), ("GELU forward", "GELU backward")),
    (re.compile("CatArray", re.I), ("cat of dq, dk, dv", "cat of dq, dk, dv")),
    (re.compile("embedding|indexSelect|index_elementwise|indexing_backward|gather|compute_grad_weight|krn_partial|"
                "sum_and_scatter|radix|merge_sort|DeviceScan|DeviceReduce|DeviceCompact|UniqueByKey|segment", re.I),
     ("embedding", "embedding")),
    (re.compile("CUDAFunctor_add|AddFunctor|add_kernel", re.I),
     ("LayerNorm and residual forward", "LayerNorm and residual backward")),
    (re.compile("copy|cast|LoadWithCast|mul|fill|Memcpy|Memset|div", re.I), ("casts and adds", "casts and adds")),
    (re.compile("reduce_kernel|reduction", re.I), (OTHER, "bias-gradient sums")),
]


def from_ncu(text: str) -> list[Kernel]:
    """Reads kernels from `ncu --csv`, pages raw and details. Raises ValueError if there is no table."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if '"Kernel Name"' in line), None)
    if first is None:
        raise ValueError("ncu printed no table")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))
    if rows and "Metric Name" in rows[0]:
        return _of_details(rows)
    kernels = []
    units: dict[str, str] = {}
    for row in rows:
        if not (row.get("ID") or "").strip():
            units = row  # the second line has the units
            continue
        kernels.append(Kernel(row["Kernel Name"], _base(row, units, "gpu__time_duration.sum"),
                              _base(row, units, "dram__bytes.sum")))
    return kernels


_UNITS = {"": 1.0, "s": 1.0, "second": 1.0, "ms": 1e-3, "msecond": 1e-3, "us": 1e-6, "usecond": 1e-6, "ns": 1e-9,
          "nsecond": 1e-9, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def _number(text: str, unit: str) -> float:
    return float(text.replace(",", "") or 0) * _UNITS[unit.strip()]


def _base(row: dict, units: dict, column: str) -> float:
    return _number(row.get(column) or "", units.get(column) or "") if column in row else 0.0


def _of_details(rows: list[dict]) -> list[Kernel]:
    kernels: dict[str, Kernel] = {}
    for row in rows:
        kernel = kernels.setdefault(row["ID"], Kernel(row["Kernel Name"], 0.0))
        value = _number(row["Metric Value"], row["Metric Unit"])
        if row["Metric Name"] == "gpu__time_duration.sum":
            kernel.seconds = value
        elif row["Metric Name"] == "dram__bytes.sum":
            kernel.bytes = value
    return list(kernels.values())


def from_trace(text: str) -> list[Kernel]:
    """Reads kernels from a trace of LibTorch's profiler, in the order of their start."""
    events = json.loads(text)["traceEvents"]
    begun = sorted((event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
                   key=lambda event: event["ts"])
    return [Kernel(event["name"], event["dur"] * 1e-6) for event in begun]


def grouped(kernels: list[Kernel]) -> list[str]:
    """Returns the group of each kernel, in the order of the step: linears come before the head's rows, the head's
    products around them, backward after."""
    softmax = [i for i, kernel in enumerate(kernels) if _SOFTMAX.search(kernel.name)]
    products = [i for i, kernel in enumerate(kernels) if not _SOFTMAX.search(kernel.name) and
                _PRODUCT.search(kernel.name) and not _ATTENTION.search(kernel.name)]
    first, last = (softmax[0], softmax[-1]) if softmax else (len(kernels), len(kernels))
    before = [i for i in products if i < first]
    head_from = before[-1] if before and softmax else first
    behind = [i for i in products if i > last]
    head_to = behind[1] if len(behind) > 1 else last  # the last chunk's dX and dW
    groups = []
    for i, kernel in enumerate(kernels):
        if _SOFTMAX.search(kernel.name):
            groups.append("softmax_rows")
        elif _ATTENTION.search(kernel.name):
            backward = _BACKWARD.search(kernel.name) or i > first
            groups.append("attention backward" if backward else "attention forward")
        elif i in products or _PRODUCT.search(kernel.name):
            groups.append("head: logits, dX, dW" if head_from <= i <= head_to else
                          "linears forward" if i < head_from else "linears backward")
        else:
            groups.append(_by_name(kernel.name, i > first))
    return groups


def _by_name(name: str, backward: bool) -> str:
    return next((names[backward] for pattern, names in _BY_NAME if pattern.search(name)), OTHER)


def table(kernels: list[Kernel]) -> list[dict]:
    """Returns, by group, launches, ms, GB, the estimates, and the names of the two longest kernels."""
    rows = {name: {"group": name, "launches": 0, "ms": 0.0, "gb": 0.0, "h100": h100, "h200": h200, "longest": []}
            for name, (h100, h200) in ESTIMATES.items()}
    rows[OTHER] = {"group": OTHER, "launches": 0, "ms": 0.0, "gb": 0.0, "h100": 0.0, "h200": 0.0, "longest": []}
    names: dict[str, dict[str, float]] = {name: {} for name in rows}
    for kernel, group in zip(kernels, grouped(kernels)):
        row = rows[group]
        row["launches"] += 1
        row["ms"] += 1e3 * kernel.seconds
        row["gb"] += kernel.bytes / 1e9
        names[group][kernel.name] = names[group].get(kernel.name, 0.0) + kernel.seconds
    for group, seconds in names.items():
        rows[group]["longest"] = sorted(seconds, key=seconds.get, reverse=True)[:2]
    return list(rows.values())
