"""Cross-builds coordinator, worker and CLI for arm64, and runs a sweep with them under qemu.

usage: arm64_test.py     exits 77 with the reason if this machine cannot

The programs run in a root folder of arm64, in namespaces of their own. The kernel starts programs of arm64 with qemu
there alone: the namespace has its own binfmt_misc (Linux 6.7), and the machine's own stays as it is.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import debian_root  # noqa: E402

SKIPPED = 77
BUILD_SECONDS = 6000
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"
QEMU = "/usr/bin/qemu-aarch64-static"
MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
# F: the kernel opens qemu now, so that it is found in another root.
REGISTER = f"""ip link set lo up
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf '%s' ':arm64:M::{MAGIC}:{MASK}:{QEMU}:F' >/proc/sys/fs/binfmt_misc/register
"""
NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork", "--kill-child", "/bin/sh",
              "-ec")
PROGRAMS = ("dtctl", "dtcoord", "dtworker", "dtprogram")
SWEEP = """version: 1
name: sweep
parameters: {x: [1, 2]}
run: |
  echo '{"step": 1, "loss": {x}}'
search: {metric: loss, goal: minimize}
"""


class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        debian_root.run(ROOT / "dev", "build", "arm64", *PROGRAMS, seconds=BUILD_SECONDS)
        cls.bin = ROOT / "build/arm64/bin"
        cls.root = CACHE / "arm64-root"

    def inside(self, script: str, *mounts: str) -> str:
        """Runs a script in the root folder; each mount is a command of the namespace."""
        lines = [REGISTER, *mounts, f"exec chroot {self.root} /bin/dash -ec '{script}'"]
        return debian_root.run(*NAMESPACES, "\n".join(lines))

    def test_programs_are_of_arm64(self):
        for program in PROGRAMS:
            header = debian_root.run("readelf", "-h", self.bin / program)
            self.assertIn("AArch64", header)

    def test_a_sweep_runs_with_a_coordinator_and_a_worker_of_arm64(self):
        with tempfile.TemporaryDirectory(prefix="dtrain-test-") as folder:
            work = pathlib.Path(folder)
            for program in PROGRAMS:
                shutil.copy(self.bin / program, work)
            (work / "sweep.yaml").write_text(SWEEP)
            shown = self.inside(
                "cd srv; export HOME=$PWD PATH=$PWD:/bin TMPDIR=$PWD; dtctl --version; dtctl up --slots 1; "
                "dtctl submit sweep.yaml --wait; dtctl get trials last; dtctl down",
                f"mount --bind {work} {self.root}/srv", f"mount --rbind /dev {self.root}/dev",
                f"mount -t proc proc {self.root}/proc")
        self.assertIn("dtctl ", shown)
        self.assertEqual(shown.count("finished"), 2, shown)


def why_not() -> str | None:
    """Returns what is missing on this machine, or None."""
    packages = {"mmdebstrap": "mmdebstrap", "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "unshare": "util-linux",
                "qemu-aarch64-static": "qemu-user-static", "readelf": "binutils"}
    for program, package in packages.items():
        if shutil.which(program) is None:
            return f"no {program} (package {package}); ./dev setup --house"
    done = subprocess.run([*NAMESPACES, REGISTER], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return f"the kernel gives a namespace no binfmt_misc of its own (Linux 6.7): {done.stderr.strip()}"
    return None


if __name__ == "__main__":
    if why := why_not():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    unittest.main()
