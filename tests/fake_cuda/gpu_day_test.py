"""Runs a day on a borrowed GPU (./dev gpu-day) from its first call to its last, on the fake CUDA libraries: small
shapes, stand-ins for tools, and a first call that is too short for everything.

usage: gpu_day_test.py DTTRAIN GPU_STEP GPU_TEST CPU_DTTRAIN, the first three on the fake libraries
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DTTRAIN, GPU_STEP, GPU_TEST, CPU_DTTRAIN = sys.argv[1:5] if len(sys.argv) >= 5 else [""] * 4
CALL_SECONDS = 280

# Stand-ins that print what NVIDIA's tools print. `ncu` runs the program, and reports 2 us for each kernel.
NVIDIA_SMI = """#!/bin/sh
case "$1" in
  -L) echo "GPU 0: Fake GPU (UUID: GPU-00000000)" ;;
  *) echo "Fake GPU, 1980 MHz, 2619 MHz, 1980 MHz, 70 W, 30" ;;
esac
"""
NCU = """#!/usr/bin/env python3
import glob, os, subprocess, sys
if sys.argv[1:] == ["--version"]:
    print("NVIDIA (R) Nsight Compute, stand-in\\nVersion 2025.3.1.0"); sys.exit(0)
words = sys.argv[1:]
log = words[words.index("--log-file") + 1]
program = words[words.index("--log-file") + 2:]
done = subprocess.run(program, env={**os.environ, "DTRAIN_FAKE_CUDA_CALLS": log + ".calls"})
with open(log, "w") as out:
    out.write('==PROF== Connected\\n'
              '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes.sum"\\n"","","ns","byte"\\n')
    names = []
    for file in glob.glob(log + ".calls.*"):
        for line in open(file):
            kind, _, rest = line.rstrip("\\n").partition(" ")
            if kind in ("launch", "product") or rest.endswith("run"):
                name = {"product": "gemm", "plan": "cudnn_sdpa_flash"}.get(kind) or rest.split(" ", 2)[-1]
                names.append(name.replace('"', "'"))
    # The last step, as between cudaProfilerStart and cudaProfilerStop: each ends with AdamW.
    adam = [i for i, name in enumerate(names) if "FusedAdam" in name]
    begin = max(i for i in adam if i < adam[-1] - 20) + 1
    for number, name in enumerate(names[begin:]):
        out.write('"%d","%s","2,000","1000"\\n' % (number, name))
sys.exit(done.returncode)
"""
# Knows no --kernel-regex, as some versions do not.
SANITIZER = """#!/bin/sh
if [ "$1" = --version ]; then echo "Version 2025.3.1.0"; exit 0; fi
tool="$2"; shift 2
if [ "$1" = --kernel-regex ]; then echo "unrecognised option '--kernel-regex'"; exit 1; fi
while [ "${1#--}" != "$1" ]; do shift 2; done
"$@" || exit 1
if [ "$tool" = racecheck ]; then
  echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
else
  echo "========= ERROR SUMMARY: 0 errors"
fi
"""


class GpuDay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.state = self.folder / "state"
        for name, text in (("nvidia-smi", NVIDIA_SMI), ("ncu", NCU), ("compute-sanitizer", SANITIZER)):
            path = self.folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        self.kit = {"dttrain": DTTRAIN, "gpu_step": GPU_STEP, "gpu_test": GPU_TEST, "torch_file": "",
                    "peer_program": str(HERE / "peer_stand_in.py"), "builds": False,
                    "test_filter": "*TheHashOfParametersEqualsACpus/cuda:*EveryBucketsAllReduceIsTimed/cuda",
                    "kernel_tests": "*OurKernelIsInUse*/2", "shape": "byte:4x64", "shapes": ["byte:4x64"],
                    "graph_shape": "byte:4x64", "memory_shapes": ["gpt2:4x1024"], "rounds": 1, "steps": 4, "warm_up": 2,
                    "recipe_steps": 6}

    def call(self, minutes, *more, path=""):
        file = self.folder / "kit.json"
        file.write_text(json.dumps(self.kit), encoding="utf-8")
        environment = {**os.environ, "PATH": f"{path or self.folder / 'bin'}:{os.environ['PATH']}",
                       "DTRAIN_STAND_IN": CPU_DTTRAIN, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-B", str(ROOT / "bench/gpu_day/day.py"), "--state", str(self.state),
                               "--kit", str(file), "--minutes", str(minutes), *more], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=CALL_SECONDS,
                              check=False)
        log = self.state / "day.log"
        self.said = done.stdout + (log.read_text(encoding="utf-8")[-3000:] if log.exists() else "")
        return done.returncode

    def results(self):
        return json.loads((self.state / "results.json").read_text(encoding="utf-8"))

    def of(self, what):
        return [record for record in self.results()["records"] if record["what"] == what]

    def test_two_calls_go_through_all_stages_and_leave_a_table_of_each(self):
        out = self.folder / "out"
        # 30 s: the first stages alone, since what needs a minute is not begun.
        self.assertEqual(self.call(0.5, "--out", str(out)), 75, self.said)
        self.assertIn("call again: next comes pytorch", self.said)
        self.assertEqual(self.results()["stages"]["machine"]["status"], "done")
        self.assertTrue((out / "tables.md").exists())

        self.assertEqual(self.call(20, "--out", str(out)), 0, self.said)
        stages = self.results()["stages"]
        for name in ("machine", "pytorch", "tests", "bench-byte-4x64", "step-table", "sanitizer", "recipe", "memory",
                     "settings", "graphs"):
            self.assertEqual(stages[name]["status"], "done", f"{name}: {stages[name]}\n{self.said}")
        self.assertEqual({record["how"] for record in self.of("test")}, {"OK"})
        bench = {record["who"]: record for record in self.of("bench")}
        self.assertEqual(set(bench), {"dttrain", "eager", "default", "max-autotune"})
        self.assertLess(bench["eager"]["all"], 0.05)
        table = self.of("step_table")[-1]
        groups = {row["group"]: row["launches"] for row in table["groups"]}
        self.assertEqual(table["by"], "ncu")
        for group in ("linears forward", "linears backward", "head: logits, dX, dW", "softmax_rows", "norm and AdamW",
                      "LayerNorm and residual forward", "GELU backward", "attention backward", "casts and adds"):
            self.assertGreater(groups[group], 0, f"{group}: {groups}")
        self.assertEqual([record["tool"] for record in self.of("sanitizer") if record["only_ours"]],
                         ["memcheck", "racecheck", "synccheck", "initcheck"])
        self.assertEqual(len(self.of("recipe")[-1]["ours"]), 6)
        memory = self.of("memory")[-1]
        self.assertAlmostEqual(memory["plan"]["tensor_bytes"] / memory["tensors"], 1, delta=0.2)
        page = (out / "tables.md").read_text(encoding="utf-8")
        for title in ("Machine", "tests/gpu", "Speed", "A step", "compute-sanitizer", "recipe", "Memory", "Settings"):
            self.assertIn(title, page)

    def test_a_failed_stage_is_reported_skipped_and_can_be_retried(self):
        self.kit |= {"dttrain": "/bin/false", "gpu_test": "/bin/false", "gpu_step": "/bin/false"}
        self.assertEqual(self.call(20), 0, self.said)
        stages = self.results()["stages"]
        self.assertEqual(stages["pytorch"]["status"], "done", self.said)
        for name in ("tests", "bench-byte-4x64", "step-table", "sanitizer", "recipe", "memory"):
            self.assertEqual(stages[name]["status"], "failed", name)
            self.assertTrue(stages[name]["note"], name)
        tries = stages["memory"]["tries"]
        self.kit["gpu_step"] = GPU_STEP
        self.assertEqual(self.call(20, "--redo", "memory"), 0, self.said)
        self.assertEqual(self.results()["stages"]["memory"], self.results()["stages"]["memory"] |
                         {"status": "done", "tries": tries - 1})
        self.assertEqual(self.results()["stages"]["tests"]["tries"], 1, "what failed is not tried by itself")

    def test_a_machine_without_a_gpu_is_reported_at_once(self):
        (self.folder / "none").mkdir()
        smi = self.folder / "none/nvidia-smi"
        smi.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        smi.chmod(0o755)
        self.assertEqual(self.call(1, path=str(self.folder / "none")), 77, self.said)
        self.assertIn("there is no GPU here", self.said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
