"""A repository of packages: apt takes what is signed by its key, and refuses the rest. Installs nothing.

usage: repository_test.py     exits 77 with the reason if a program is missing
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
SECONDS = 60


def run(*command: str | pathlib.Path, **more) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False, **more)


class Keys:
    """A home of gpg with keys for tests alone."""

    def __init__(self, folder: pathlib.Path):
        folder.mkdir(mode=0o700)
        self.folder = folder
        self.environment = os.environ | {"GNUPGHOME": str(folder)}

    def make(self, name: str) -> str:
        address = f"{name}@dtrain.invalid"
        done = run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", address, "ed25519", "sign", "never",
                   env=self.environment)
        assert done.returncode == 0, done.stdout
        return address

    def close(self) -> None:
        run("gpgconf", "--kill", "all", env=self.environment)

    def repository(self, key: str, folder: pathlib.Path, *debs: pathlib.Path) -> subprocess.CompletedProcess:
        return run(sys.executable, "-B", ROOT / "tools/repository.py", "--key", key, "--output", folder, *debs,
                   env=self.environment)


class Repository(unittest.TestCase):
    def setUp(self):
        # apt's own account reads it, so not a folder for root alone.
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        self.path.chmod(0o755)
        # gpg's sockets have short names.
        self.keys = Keys(self.path / "k")
        self.addCleanup(self.keys.close)
        self.key = self.keys.make("ours")
        self.folder = self.path / "repository"

    def deb(self, version: str) -> pathlib.Path:
        tree = self.path / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(f"Package: dtrain-test\nVersion: {version}\nArchitecture: amd64\n"
                                             "Maintainer: nobody <nobody@dtrain.invalid>\nDescription: a test\n")
        deb = self.path / f"dtrain-test_{version}_amd64.deb"
        done = run("dpkg-deb", "--root-owner-group", "-b", tree, deb)
        self.assertEqual(done.returncode, 0, done.stdout)
        shutil.rmtree(tree)
        return deb

    def make(self, *debs: pathlib.Path) -> None:
        done = self.keys.repository(self.key, self.folder, *debs)
        self.assertEqual(done.returncode, 0, done.stdout)

    def apt(self) -> tuple[int, str]:
        """Reads the repository with lists of its own; returns the status and the packages, or what apt says."""
        state = self.path / "apt"
        shutil.rmtree(state, ignore_errors=True)
        for name in ("lists/partial", "cache/archives/partial"):
            (state / name).mkdir(parents=True)
        (state / "status").touch()
        source = (self.folder / "dtrain.sources").read_text()
        self.assertIn("/etc/apt/keyrings/dtrain.gpg", source)
        shutil.copy(self.folder / "dtrain.gpg", state / "dtrain.gpg")
        (state / "dtrain.sources").write_text(source.replace("/etc/apt/keyrings", str(state)))
        options = [word for option in (
            f"Dir::Etc::SourceList={state}/dtrain.sources", "Dir::Etc::SourceParts=/dev/null",
            f"Dir::State::Lists={state}/lists", f"Dir::Cache={state}/cache", f"Dir::State::Status={state}/status",
            "APT::Architecture=amd64", "APT::Sandbox::User=", "APT::Get::List-Cleanup=0") for word in ("-o", option)]
        update = run("apt-get", *options, "--error-on=any", "update")
        if update.returncode != 0:
            return update.returncode, update.stdout
        return 0, run("apt-cache", *options, "madison", "dtrain-test").stdout

    def test_apt_reads_a_signed_repository_and_older_packages_stay(self):
        self.make(self.deb("1.0"))
        self.make(self.deb("1.1"))
        status, text = self.apt()
        self.assertEqual(status, 0, text)
        self.assertEqual([line.split("|")[1].strip() for line in text.splitlines()], ["1.1", "1.0"])

    def test_apt_refuses_what_another_key_signed(self):
        self.make(self.deb("1.0"))
        theirs = self.keys.make("theirs")
        ours = (self.folder / "dtrain.gpg").read_bytes()
        self.assertEqual(self.keys.repository(theirs, self.folder, self.deb("1.1")).returncode, 0)
        (self.folder / "dtrain.gpg").write_bytes(ours)
        status, text = self.apt()
        self.assertNotEqual(status, 0, text)
        self.assertIn("is not signed", text)

    def test_apt_refuses_an_index_that_was_changed_after_it_was_signed(self):
        self.make(self.deb("1.0"))
        for name in ("Packages", "Packages.gz"):
            (self.folder / name).write_bytes((self.folder / name).read_bytes() + b"\n")
        status, text = self.apt()
        self.assertNotEqual(status, 0, text)

    def test_the_same_packages_and_date_give_the_same_index(self):
        os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
        self.addCleanup(os.environ.pop, "SOURCE_DATE_EPOCH")
        self.keys.environment["SOURCE_DATE_EPOCH"] = "1700000000"
        deb = self.deb("1.0")
        self.make(deb)
        first = {name: (self.folder / name).read_bytes() for name in ("Packages", "Packages.gz", "Release")}
        shutil.rmtree(self.folder)
        self.make(deb)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in first}, first)
        self.assertIn(b"Date: Tue, 14 Nov 2023 22:13:20 GMT", first["Release"])

    def test_an_unknown_key_is_named(self):
        done = self.keys.repository("nobody@dtrain.invalid", self.folder, self.deb("1.0"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("nobody@dtrain.invalid", done.stdout)


if __name__ == "__main__":
    for program, package in (("gpg", "gpg"), ("dpkg-scanpackages", "dpkg-dev"), ("apt-get", "apt")):
        if shutil.which(program) is None:
            print(f"skipped: no {program} (package {package})")
            sys.exit(SKIPPED)
    unittest.main()
