"""Configures the build with all, some or none of CUDA's libraries. LibTorch and CUDA are empty files here, and ldd
is a stand-in."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ["cublas_v2.h", "cusparse.h", "cusolverDn.h", "cuda_runtime_api.h", "crt/host_defines.h"]
LIBRARIES = ["torch/lib/libtorch_cpu.so", "torch/lib/libtorch_cuda.so", "torch/lib/libcaffe2_nvrtc.so",
             "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libnccl.so.2"]

# Configures like tools/gpu-test.sh; the tests then configure without it.
GPU_TEST = """
set -euo pipefail
root="{root}"
say() {{ :; }}
source "{root}/tools/gpu-test.sh"
configure_gpu_build "{torch}" "{build}" ""
"""


class ConfigureCuda(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.torch = self.folder / "torch-folder"
        self.build = self.folder / "build"
        for file in LIBRARIES + [f"nvidia/cu13/include/{header}" for header in HEADERS]:
            self.write(self.torch / file, "")
        self.nccl("2 28 9")
        self.missing("libcuda.so.1")
        self.environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")

    def nccl(self, version):
        parts = zip(["MAJOR", "MINOR", "PATCH"], version.split())
        self.write(self.torch / "nvidia/cu13/include/nccl.h",
                   "".join(f"#define NCCL_{part} {number}\n" for part, number in parts))

    def missing(self, library):
        ldd = self.folder / "bin/ldd"
        self.write(ldd, f"#!/bin/sh\nprintf '\\t{library} => not found\\n'\n")
        ldd.chmod(0o755)

    def run_checked(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def configure(self):
        return self.run_checked("cmake", "-S", ROOT, "-B", self.build, "-DDTRAIN_CUDA=AUTO", "-DDTRAIN_WERROR=ON",
                                f"-DDTRAIN_LIBTORCH={self.torch}")

    def commands(self):
        return (self.build / "compile_commands.json").read_text(encoding="utf-8")

    def test_missing_cuda_parts_are_found_when_configuring(self):
        # G4: a compiler that we do not use may warn; G6: only a GPU's driver may be missing.
        self.run_checked("bash", "-c", GPU_TEST.format(root=ROOT, torch=self.torch, build=self.build))
        self.assertNotIn("-Werror", self.commands())
        self.assertIn("CUDA: yes", self.configure())
        self.assertIn("-Werror", self.commands())
        self.missing("libnvrtc.so.13")
        self.assertIn("built for CPUs, because at start it would miss: libnvrtc.so.13", self.configure())
        # With the files that ./dev setup fetches, the CUDA part is compiled against the fake.
        self.nccl("2 27 5")
        self.assertIn("compiled for tests/fake_cuda alone", self.configure())
        self.assertIn(f"{ROOT}/tests/fake_cuda/headers", self.commands())


if __name__ == "__main__":
    unittest.main()
