"""Installs the wheel with the programs in bare systems, and runs a sweep there: Debian 12, which the wheel was made on,
and three with another glibc, Python and OpenSSL.

usage: bare_debian_test.py BUILD_DIR     exits 77 with the reason if this machine cannot make such a system
"""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import debian_root  # noqa: E402
import wheel_test  # noqa: E402

# Without grpcio, which is for the Python client alone: no package index is needed.
SCRIPT = """
  cd /srv && python3 -m venv /srv/venv && export PATH=/srv/venv/bin:$PATH
  pip install --quiet --no-index --no-deps /srv/{wheel}
  dtctl up --slots 2
  dtctl submit sweep.yaml --wait && dtctl get trials last
  dtctl down"""


class BareSystem(unittest.TestCase):
    build: pathlib.Path

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.wheel = wheel_test.make_wheel(cls.build, cls.path)

    def runs_a_sweep_in(self, system: str) -> None:
        release = debian_root.SYSTEMS[system]
        if why := debian_root.why_not_system(release):
            self.skipTest(why)
        root = self.path / release
        debian_root.make_base(root, ["python3-venv"], release)
        self.addCleanup(shutil.rmtree, root)
        shutil.copy(self.wheel, root / "srv")
        (root / "srv/sweep.yaml").write_text(wheel_test.SWEEP)
        shown = debian_root.run_in(root, SCRIPT.format(wheel=self.wheel.name))
        self.assertEqual(shown.count("finished"), 2, shown)

    def test_a_sweep_of_a_program_runs_in_debian_13(self):
        self.runs_a_sweep_in("Debian 13")

    def test_a_sweep_of_a_program_runs_in_debian_12(self):
        self.runs_a_sweep_in("Debian 12")

    def test_a_sweep_of_a_program_runs_in_ubuntu_24_04(self):
        self.runs_a_sweep_in("Ubuntu 24.04")

    def test_a_sweep_of_a_program_runs_in_ubuntu_22_04(self):
        self.runs_a_sweep_in("Ubuntu 22.04")


if __name__ == "__main__":
    BareSystem.build = pathlib.Path(sys.argv.pop(1)).resolve()
    if why := debian_root.why_not("mmdebstrap", "unshare", "chroot") or wheel_test.why_not():
        print(f"skipped: {why}")
        sys.exit(wheel_test.SKIPPED)
    unittest.main()
