"""Installs the wheel with the programs in a bare Debian 13, which has another glibc, Python and OpenSSL than the Debian
12 that it was made on, and runs a sweep there.

usage: bare_debian_test.py BUILD_DIR     exits 77 with the reason if this machine cannot make such a Debian
"""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import debian_root  # noqa: E402
import wheel_test  # noqa: E402

RELEASE = "trixie"


class BareDebian(unittest.TestCase):
    build: pathlib.Path

    def test_a_sweep_of_a_program_runs_in_debian_13(self):
        with tempfile.TemporaryDirectory(prefix="dtrain-test-") as folder:
            path = pathlib.Path(folder)
            wheel = wheel_test.make_wheel(self.build, path)
            root = path / "root"
            debian_root.make_base(root, ["python3-venv"], RELEASE)
            shutil.copy(wheel, root / "srv")
            (root / "srv/sweep.yaml").write_text(wheel_test.SWEEP)
            # Without grpcio, which is for the Python client alone: no package index is needed.
            script = f"""
              cd /srv && python3 -m venv /srv/venv && export PATH=/srv/venv/bin:$PATH HOME=/var/tmp
              pip install --quiet --no-index --no-deps /srv/{wheel.name}
              dtctl up --slots 2
              dtctl submit sweep.yaml --wait && dtctl get trials last
              dtctl down"""
            shown = debian_root.run("unshare", "--mount", "--pid", "--fork", "--kill-child",
                                    f"--mount-proc={root}/proc", "chroot", root, "/bin/sh", "-ec", script)
            self.assertEqual(shown.count("finished"), 2, shown)


if __name__ == "__main__":
    BareDebian.build = pathlib.Path(sys.argv.pop(1)).resolve()
    if why := debian_root.why_not("mmdebstrap", "unshare", "chroot") or wheel_test.why_not():
        print(f"skipped: {why}")
        sys.exit(wheel_test.SKIPPED)
    unittest.main()
