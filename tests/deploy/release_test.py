"""A release: made twice from two folders it has the same bytes; its packages run a sweep in bare systems; apt takes
them from a signed repository, and refuses another signature.

usage: release_test.py     exits 77 with the reason if this machine cannot make it

`./dev package --static --wheel` runs in two clones of the last commit, with --quick: objects come from ccache, and
packages are not compressed. So the test adds units that are compiled in both clones without ccache. Not made twice
here, since each takes minutes: the compressed package of LibTorch, the wheel dtrain-libtorch, and trainers for more
versions of PyTorch.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/deploy"), str(ROOT / "tests/tools")]
import debian_root  # noqa: E402
import repository_test  # noqa: E402
import wheel_test  # noqa: E402

SECONDS = 3000
# Targets of units that are compiled without ccache: our own, in units of several sources, and generated ones.
COMPILED = ("dt_plan", "dt_corpus", "dt_checkpoint")
SWEEP = """
  mkdir /srv/empty && cd /srv/empty && cp /srv/sweep.yaml .
  dtctl up --slots 2
  dtctl submit sweep.yaml --wait && dtctl get trials last
  dtctl down
  dttrain --version"""
INSTALL = "apt-get -q -y --no-install-recommends"


def last_commit(folder: pathlib.Path) -> pathlib.Path:
    debian_root.run("git", "clone", "--quiet", "--shared", ROOT, folder)
    return folder


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-", dir="/var/tmp")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.path.chmod(0o755)
        cls.keys = repository_test.Keys(cls.path / "k")
        cls.addClassCleanup(cls.keys.close)
        cls.key = cls.keys.make("ours")
        # Two paths of different lengths, file modes, time zones and languages.
        cls.clones = [last_commit(cls.path / "one"), last_commit(cls.path / "another/folder/two")]
        surroundings = [({"TZ": "UTC"}, 0o022), ({"TZ": "Asia/Tokyo", "LC_ALL": "C"}, 0o002)]
        cls.sums = []
        for clone, (variables, umask) in zip(cls.clones, surroundings):
            cls.sums.append(debian_root.run(
                clone / "dev", "package", "--static", "--wheel", "--quick", "--repository", cls.key,
                env=cls.keys.environment | variables, umask=umask, seconds=SECONDS))
        cls.packages = cls.clones[0] / "build/packages"

    def test_two_folders_give_the_same_bytes(self):
        self.assertEqual(*self.sums)
        names = [line.split()[1] for line in self.sums[0].splitlines()]
        self.assertEqual(len([name for name in names if name.endswith(".deb")]), 5, names)
        self.assertEqual(len([name for name in names if name.endswith((".whl", ".tar.xz"))]), 2, names)
        index = [(clone / "build/packages/repository/Release").read_bytes() for clone in self.clones]
        self.assertEqual(*index)

    def test_two_folders_compile_to_the_same_bytes(self):
        archives = []
        for clone in self.clones:
            variables = os.environ | {"CCACHE_DISABLE": "1"}
            debian_root.run("cmake", "--preset", "static", f"-DDTRAIN_STATIC_LIBRARIES={wheel_test.LIBRARIES / 'lib'}",
                            cwd=clone, env=variables, seconds=SECONDS)
            debian_root.run("cmake", "--build", "build/static", "--target", *COMPILED, cwd=clone, env=variables,
                            seconds=SECONDS)
            found = sorted((clone / "build/static").rglob("lib*.a"))
            archives.append({str(file.relative_to(clone)): file.read_bytes() for file in found})
        self.assertGreaterEqual(len(archives[0]), len(COMPILED))
        different = [name for name, data in archives[0].items() if data != archives[1].get(name)]
        self.assertEqual((different, len(archives[0])), ([], len(archives[1])))

    def root(self, system: str) -> pathlib.Path:
        release = debian_root.SYSTEMS[system]
        if why := debian_root.why_not_system(release):
            self.skipTest(why)
        root = self.path / release
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        # libstdc++6 is LibTorch's, and apt would install it.
        debian_root.make_base(root, ["python3", "systemd", "libstdc++6"], release)
        (root / "srv/sweep.yaml").write_text(wheel_test.SWEEP)
        (root / "srv/packages").mkdir()
        return root

    def in_root(self, root: pathlib.Path, script: str) -> str:
        return debian_root.run_in(root, script, f"mount --bind {self.packages} {root}/srv/packages")

    def installs_and_sweeps_in(self, system: str) -> None:
        root = self.root(system)
        shown = self.in_root(root, f"dpkg -i /srv/packages/*.deb >/dev/null; {SWEEP}")
        self.assertEqual(shown.count("finished"), 2, shown)
        self.assertIn("LibTorch 2.", shown)

    def test_packages_run_a_sweep_in_debian_12(self):
        self.installs_and_sweeps_in("Debian 12")

    def test_packages_run_a_sweep_in_ubuntu_24_04(self):
        self.installs_and_sweeps_in("Ubuntu 24.04")

    def test_packages_run_a_sweep_in_ubuntu_22_04(self):
        self.installs_and_sweeps_in("Ubuntu 22.04")

    def test_debian_13_installs_from_the_signed_repository_and_refuses_another_signature(self):
        root = self.root("Debian 13")
        (root / "etc/apt/keyrings").mkdir(exist_ok=True)
        shutil.copy(self.packages / "repository/dtrain.gpg", root / "etc/apt/keyrings")
        # Only this source, so that no network is needed.
        (root / "srv/sources").mkdir()
        (root / "srv/sources/dtrain.sources").write_text(
            "Types: deb\nURIs: file:/srv/packages/repository\nSuites: ./\nSigned-By: /etc/apt/keyrings/dtrain.gpg\n")
        only = "-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=/srv/sources"
        # Another key first: nothing may be installed.
        theirs = self.keys.make("theirs")
        export = debian_root.run("gpg", "--batch", "--armor", "--export", theirs, env=self.keys.environment)
        (root / "srv/theirs.asc").write_text(export)
        swap = "sed s,/etc/apt/keyrings/dtrain.gpg,/srv/theirs.asc,"
        self.in_root(root, f"""
          mkdir /srv/wrong; {swap} /srv/sources/dtrain.sources >/srv/wrong/dtrain.sources
          ! apt-get -q {only} -o Dir::Etc::SourceParts=/srv/wrong update 2>/srv/why
          ! {INSTALL} {only} -o Dir::Etc::SourceParts=/srv/wrong install dtrain-cli""")
        self.assertRegex((root / "srv/why").read_text(), "is not signed|NO_PUBKEY|Missing key")
        shown = self.in_root(root, f"""
          apt-get -q {only} update
          {INSTALL} {only} install dtrain-cli dtrain-coordinator dtrain-worker >/dev/null; {SWEEP}""")
        self.assertEqual(shown.count("finished"), 2, shown)
        self.assertIn("LibTorch 2.", shown)


if __name__ == "__main__":
    if why := debian_root.why_not("mmdebstrap", "unshare", "chroot", "git", "gpg") or wheel_test.why_not():
        print(f"skipped: {why}")
        sys.exit(wheel_test.SKIPPED)
    unittest.main()
