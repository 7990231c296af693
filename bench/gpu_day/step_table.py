"""A step, kernel by kernel: by ncu if it works, else by LibTorch's profiler, else its phases by CUDA events; and a
step's memory compared with the count of dtctl plan."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import kernels
import kit as kits
import records
import stages
import trainings

STEPS, LOOKED_AT = 6, 5  # the window ends when the last step begins
NCU = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--cache-control", "none",
       "--target-processes", "all", "--print-units", "base", "--csv", "--page", "raw"]
METRICS = ["gpu__time_duration.sum,dram__bytes.sum", "gpu__time_duration.sum"]


class Step:
    """Runs gpu_step on a shape, with its files in a folder."""

    def __init__(self, kit: kits.Kit, shape_name: str, folder: pathlib.Path):
        self.kit, self.folder = kit, folder
        self.case = trainings.Case(kit, trainings.shape_named(shape_name), STEPS, folder)
        self.out = folder / "out.json"
        (folder / "spec.json").write_text(json.dumps(self.case.spec()), encoding="utf-8")

    def run(self, seconds: float, before: list[str] = (), trace: str = "") -> dict:
        """Returns its output; empty: it failed, as stderr shows."""
        self.out.unlink(missing_ok=True)
        command = [*before, self.kit.gpu_step, str(self.folder / "spec.json"), str(self.folder), str(LOOKED_AT),
                   str(self.out), *([trace] if trace else [])]
        try:
            subprocess.run(command, stdout=sys.stderr, timeout=max(1.0, seconds), check=False)
        except subprocess.TimeoutExpired:
            print(f"{command[0]} was stopped after {seconds:.0f} s", file=sys.stderr)
        told = json.loads(self.out.read_text(encoding="utf-8")) if self.out.exists() else {}
        if told.get("trouble"):
            print(told["trouble"], file=sys.stderr)
        return told


def by_ncu(step: Step, until: float) -> list[kernels.Kernel]:
    if shutil.which("ncu") is None:
        return []
    for metrics in METRICS:
        log = step.folder / "ncu.csv"
        log.unlink(missing_ok=True)
        # At most half of the time left, so that the other ways get their turn.
        step.run((until - time.monotonic()) / 2, [*NCU, "--metrics", metrics, "--log-file", str(log)])
        try:
            found = kernels.from_ncu(log.read_text(encoding="utf-8")) if log.exists() else []
        except ValueError as error:
            print(error, file=sys.stderr)
            continue
        if found:
            return found
    return []


def by_profiler(step: Step, until: float) -> list[kernels.Kernel]:
    trace = step.folder / "trace.json"
    step.run((until - time.monotonic()) / 2, trace=str(trace))
    return kernels.from_trace(trace.read_text(encoding="utf-8")) if trace.exists() else []


def run(kit: kits.Kit) -> int:
    until = time.monotonic() + stages.seconds() - 5
    with tempfile.TemporaryDirectory() as name:
        step = Step(kit, kit.shape, pathlib.Path(name))
        plain = step.run(until - time.monotonic())
        if plain.get("cause") != "finished":
            print(plain.get("message") or "gpu_step did not come to its end", file=sys.stderr)
            return 1
        rows = plain["rows"][1:]
        phases = {phase: 1e3 * statistics.median(row[f"{phase}_seconds"] for row in rows)
                  for phase in ("forward", "backward", "optimizer")}
        whole = 1e3 * statistics.median(row["seconds"] for row in rows)
        words = ", ".join(f"{phase} {ms:.2f}" for phase, ms in phases.items())
        records.say("phases", f"{kit.shape} by CUDA events: {whole:.2f} ms a step; {words}", shape=kit.shape, ms=whole,
                    phases=phases, device=plain["device"])
        for way, look in (("ncu", by_ncu), ("profiler", by_profiler)):
            found = look(step, until)
            if found:
                break
        else:
            records.say("no_kernels", "neither ncu nor LibTorch's profiler saw a kernel; the phases above are all",
                        shape=kit.shape)
            return 1
        told = kernels.table(found)
        pathlib.Path(os.environ["DTRAIN_DAY_STATE"], "kernels.json").write_text(
            json.dumps([[kernel.name, kernel.seconds, kernel.bytes, group]
                        for kernel, group in zip(found, kernels.grouped(found))]), encoding="utf-8")
        total = sum(row["ms"] for row in told)
        for row in told:
            print(f"  {row['group']:34} {row['launches']:5} {row['ms']:8.2f} ms", flush=True)
        records.say("step_table", f"{kit.shape} by {way}: {len(found)} launches, {total:.2f} ms in kernels",
                    shape=kit.shape, by=way, launches=len(found), ms=total, whole_ms=whole, groups=told,
                    device=plain["device"])
    return 0


def memory(kit: kits.Kit) -> int:
    failed = 0
    for shape in kit.memory_shapes:
        with tempfile.TemporaryDirectory() as name:
            told = Step(kit, shape, pathlib.Path(name)).run(stages.seconds())
        if told.get("cause") != "finished":
            failed += 1
            records.say("memory", f"{shape}: {told.get('message', 'it did not come to its end')}", shape=shape,
                        failed=told.get("message", ""))
            continue
        tensors = max(row["tensor_peak_bytes"] for row in told["rows"])
        reserved = max(row["memory_peak_bytes"] for row in told["rows"])
        plan = told["plan"]
        records.say("memory", f"{shape}: tensors {tensors / 2**30:.2f} GiB at the peak, plan "
                    f"{plan['tensor_bytes'] / 2**30:.2f}; the allocator holds {reserved / 2**30:.2f}, plan "
                    f"{plan['memory_bytes'] / 2**30:.2f} with the context", shape=shape, tensors=tensors,
                    reserved=reserved, used=told["used_bytes"], plan=plan, device=told["device"])
    return int(failed > 0)
