"""Links this build's programs statically, makes the wheel from them, installs it as a user does, and runs a sweep.

usage: wheel_test.py BUILD_DIR     exits 77 with the reason if the static libraries are not there

The programs are those of the build under test, so that nothing is compiled. `./dev package --wheel` makes the same
wheel from a release build.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("tests/deploy", "tools", "tests/testing", "python")]
import debian_root  # noqa: E402
import floor  # noqa: E402
import make_platform_wheel  # noqa: E402
import users_folder  # noqa: E402
from until import until  # noqa: E402

SKIPPED = 77
SECONDS = 120
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"
LIBRARIES = CACHE / "static-libraries"
# Bounds of `dtctl --version`, about twice what it takes: 10 ms are 25 million instructions at one a cycle.
VERSION_INSTRUCTIONS = 25_000_000
VERSION_CALLS = 200
# Files that the loader and libc open; `possible` has the number of cores.
OF_LIBC = ("ld.so.cache", "libc.so", "libm.so", "libgcc_s.so", "possible")
OF_TORCH = frozenset({"libstdc++.so.6", "libtorch_cpu.so", "libc10.so"})


def torch_version() -> str:
    """Returns the version of LibTorch that ./dev package gives the wheel."""
    return re.search(r"(?m)^readonly torch_version=(\S+)", (ROOT / "tools/common.sh").read_text())[1]


MINOR = torch_version().rpartition(".")[0]


# Programs of the wheel, and those of the build that they are linked from.
PROGRAMS = {"dtctl": "dtctl", "dtcoord": "dtcoord", "dtworker": "dtworker", "dtprogram": "dtprogram",
            "dttrain": "dttrain-starter", f"dttrain-{MINOR}": "dttrain"}
TAG = f"manylinux_2_34_{os.uname().machine}"
output = functools.partial(debian_root.run, seconds=SECONDS)


def libtorch_of(build: pathlib.Path) -> pathlib.Path | None:
    """Returns the folder of LibTorch with which a build was configured, or None."""
    found = re.search(r"(?m)^DTRAIN_LIBTORCH_FOLDER:INTERNAL=(.+)$", (build / "CMakeCache.txt").read_text())
    return pathlib.Path(found[1]) if found else None


def link(build: pathlib.Path, program: str, out: pathlib.Path) -> None:
    """Links a program of the build once more, as DTRAIN_STATIC does."""
    line = output("ninja", "-C", build, "-t", "commands", f"bin/{PROGRAMS[program]}").splitlines()[-1]
    command = shlex.split(line.removeprefix(": && ").split(" && :")[0])
    command[command.index("-o") + 1] = str(out)
    trains = program.startswith("dttrain-")
    floors = build / "CMakeFiles" / ("dt_floor_libstdcxx.dir" if trains else "dt_floor.dir") / "cmake/floor"
    wrap = ["-Wl,--wrap=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"] if trains else []
    # The rpath of an installed trainer, instead of the build's.
    place = "-Wl,-rpath,$ORIGIN/../lib/python3.%d/site-packages/torch/lib" % sys.version_info[1]
    # The linker of released programs, not the quick one of development builds.
    command = [place if word.startswith("-Wl,-rpath,") else word for word in command if not word.startswith("-fuse-ld")]
    output(sys.executable, "-B", ROOT / "tools/link_statically.py", "--libraries", LIBRARIES / "lib", "--linked",
           f"{out}.linked", *(["--keep-libstdcxx"] if trains else []),
           *(f"--also={each}" for each in floors.glob("*.o")), "--", *command, *wrap, "-Wl,-s", cwd=build)


def make_wheel(build: pathlib.Path, path: pathlib.Path, number: int = 1) -> pathlib.Path:
    """Makes the wheel from the programs in path/installed/bin; links those that are not there yet."""
    installed = path / "installed/bin"
    installed.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        if (build / "bin" / PROGRAMS[program]).exists() and not (installed / program).exists():
            link(build, program, installed / program)
    output(sys.executable, "-B", ROOT / "deploy/man/make_man.py", "--version", "0.0.0", "--output",
           path / "installed/share/man/man1", installed / "dtctl")
    output(sys.executable, "-B", ROOT / "tools/bill.py", "--version", "0.0.0", "--libraries", LIBRARIES, "--output",
           path / "bill", *installed.glob("*.linked"))
    client = next((build / "bin").glob("dtrain-*-py3-none-any.whl"))
    return pathlib.Path(output(
        sys.executable, "-B", ROOT / "python/make_platform_wheel.py", "--client", client, "--installed",
        path / "installed", "--bill", path / "bill", "--readme", ROOT / "python/README.md", "--torch", torch_version(),
        "--tag", TAG, "--output", path / f"wheel-{number}").strip())


def why_not() -> str | None:
    """Returns what this machine lacks to make the wheel, or None."""
    needed = LIBRARIES / "lib/libcurl.a"
    if not needed.exists():
        return f"there is no {needed}; ./dev setup makes it, and says why it cannot"
    for program, package in (("ninja", "ninja-build"), ("objdump", "binutils"), ("dpkg-query", "dpkg")):
        if shutil.which(program) is None:
            return f"no {program} (package {package})"
    return None


def why_not_installed() -> str | None:
    """Returns what this machine lacks to install the wheel with what the client needs, or None."""
    # `./dev setup` writes it once all wheels of the client are in the cache.
    needed = CACHE / "python-client/.wheels"
    if not needed.exists():
        return f"there is no {needed}; ./dev setup makes it, and says why it cannot"
    if sys.version_info[:2] != (3, 11):
        return f"the wheels in the cache are for Python 3.11; this is {sys.version_info[0]}.{sys.version_info[1]}"
    return None


SWEEP = """version: 1
name: sweep
parameters: {x: [1, 2]}
run: |
  echo '{"step": 1, "loss": {x}}'
search: {metric: loss, goal: minimize}
"""


class Floor(unittest.TestCase):
    def test_a_symbol_that_is_too_new_is_named_with_its_version(self):
        lines = ("0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.34) pthread_create\n"
                 "0000000000000000      DF *UND*  0000000000000000 (GLIBC_2.36) arc4random\n"
                 "0000000000000000      DF *UND*  0000000000000000  GLIBCXX_3.4.30 _ZNSt18condition_variable4waitE\n"
                 "0000000000001234 g    DF .text  0000000000000010  Base        main\n")
        self.assertEqual(floor.too_new(lines), [("arc4random", "GLIBC_2.36"),
                                                ("_ZNSt18condition_variable4waitE", "GLIBCXX_3.4.30")])


class Requirement(unittest.TestCase):
    def test_pip_installs_a_version_of_pytorch_that_has_a_trainer(self):
        for programs, wanted in ((["dttrain-2.11"], "torch==2.11.*"),
                                 (["dttrain", "dttrain-2.9", "dttrain-2.9-cuda", "dttrain-2.10"], "torch>=2.9,<2.11"),
                                 (["dttrain-2.13", "dttrain-2.11"], "torch>=2.11,<2.14,!=2.12.*")):
            self.assertEqual(make_platform_wheel.requirement(make_platform_wheel.minors(programs)), wanted)


class Wheel(unittest.TestCase):
    build: pathlib.Path

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        cls.wheel = make_wheel(cls.build, cls.path)
        cls.programs = [name for name in PROGRAMS if (cls.path / "installed/bin" / name).exists()]
        cls.venv = cls.path / "venv"
        output(sys.executable, "-m", "venv", cls.venv)
        # As on a machine of a user, who has pip's index: the wheels that the client needs are here already.
        output(cls.venv / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index",
               "--find-links", CACHE / "wheels", cls.wheel)

    def test_programs_start_on_every_system_from_glibc_2_34_on(self):
        for program in self.programs:
            more = OF_TORCH if program.startswith("dttrain-") else frozenset()
            self.assertEqual(floor.faults(str(self.path / "installed/bin" / program), more), [])

    def test_the_same_programs_give_the_same_bytes(self):
        again = self.path / "dtprogram"
        link(self.build, "dtprogram", again)
        self.assertEqual(again.read_bytes(), (self.path / "installed/bin/dtprogram").read_bytes())
        self.assertEqual(make_wheel(self.build, self.path, 2).read_bytes(), self.wheel.read_bytes())

    def test_the_wheel_has_its_tag_licences_bill_of_materials_and_manual(self):
        self.assertTrue(self.wheel.name.endswith(f"-py3-none-{TAG}.whl"), self.wheel.name)
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            info = next(name.split("/")[0] for name in names if name.endswith("/WHEEL"))
            self.assertIn("Root-Is-Purelib: false", archive.read(f"{info}/WHEEL").decode())
            metadata = archive.read(f"{info}/METADATA").decode()
            self.assertIn(f"Requires-Dist: torch=={MINOR}.*; extra == 'train'", metadata)
            self.assertIn("dtctl submit sweep.yaml", metadata)
            bill = json.loads(archive.read(f"{info}/sboms/dtrain.cdx.json"))
        listed = {component["name"] for component in bill["components"]}
        self.assertLessEqual({"abseil", "curl", "fmtlib", "grpc", "openssl", "protobuf", "sqlite3", "yaml-cpp"}, listed)
        self.assertEqual({name.split("/")[-1] for name in names if "/licenses/" in name}, listed)
        self.assertTrue((self.venv / "share/man/man1/dtctl.1.gz").exists())

    def test_a_call_of_dtctl_costs_little_and_reads_nothing_of_the_user(self):
        """Stands for the bar of 10 ms (bench/install), which a busy machine cannot keep."""
        if shutil.which("valgrind") is None:
            self.skipTest("no valgrind (package valgrind); ./dev setup installs it")
        folder = self.path / "version"
        folder.mkdir()
        environment = users_folder.variables(folder, self.venv)
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--trace-syscalls=yes", f"--callgrind-out-file={folder}/out",
             self.venv / "bin/dtctl", "--version"], cwd=folder, env=environment, capture_output=True, text=True,
            timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        instructions = int(re.search(r"(?m)^==\d+== Collected : (\d+)", done.stderr)[1])
        calls = re.findall(r"(?m)^SYSCALL\[\d+,\d+\]\(\d+\) +(\w+) *\(([^\n]*)", done.stderr)
        opened = [pathlib.Path(path) for name, words in calls if name in ("sys_open", "sys_openat")
                  for path in re.findall(r"\((/[^)]*)\)", words) if "valgrind" not in path]
        print(f"dtctl --version: {instructions / 1e6:.1f} million instructions, {len(calls)} calls of the kernel, "
              f"{len(opened)} files: {', '.join(map(str, opened))}")
        self.assertLessEqual(instructions, VERSION_INSTRUCTIONS)
        self.assertLessEqual(len(calls), VERSION_CALLS)
        self.assertEqual([path for path in opened if not path.name.startswith(OF_LIBC)], [])

    def test_the_bench_of_an_installation_runs(self):
        if f"dttrain-{MINOR}" not in self.programs:
            self.skipTest("this build has no trainer")
        torch = libtorch_of(self.build)
        if torch is None or not (torch / "torch/lib/libtorch_cpu.so").exists():
            self.skipTest(f"there is no torch/lib/libtorch_cpu.so in {torch}; ./dev setup")
        table = output(sys.executable, "-B", ROOT / "bench/install/install_bench.py", "--tiny", "--packages",
                       self.wheel.parent, "--libtorch", torch)
        for words in ("from nothing to the first trained trial", "| 20 s", "dtctl --version", "| 10 ms"):
            self.assertIn(words, table)

    def start(self, name: str):
        """Starts a coordinator in an empty folder; returns the folder and a function that runs a command in it."""
        folder = self.path / name
        folder.mkdir()
        run = users_folder.runner(folder, self.venv)
        run("dtctl", "up", "--slots", "2")
        self.addCleanup(run, "dtctl", "down")
        return folder, run

    def test_a_sweep_of_a_program_runs_from_an_empty_folder(self):
        folder, run = self.start("sweep")
        (folder / "sweep.yaml").write_text(SWEEP)
        run("dtctl", "submit", "sweep.yaml", "--wait")
        self.assertIn("finished", run("dtctl", "get", "trials", "last"))
        self.assertIn("1/1", run("dtctl", "best", "last"))
        self.assertEqual(run("python", "-c", "import dtrain; print(dtrain.Client().experiment(1).state)").strip(),
                         "finished")

    def test_a_trial_of_a_model_waits_for_a_trainer_until_libtorch_is_installed(self):
        if f"dttrain-{MINOR}" not in self.programs:
            self.skipTest("this build has no trainer")
        folder, run = self.start("train")
        users_folder.make_corpus(folder, run)
        submitted = run("dtctl", "submit", "train.yaml")
        why = run("dtctl", "explain", "1/1")
        for words in ("has no trainer", f"needs PyTorch {MINOR}, and there is none in", 'pip install "dtrain[train]"'):
            self.assertIn(words, re.sub(r"\s+", " ", why), submitted)
        # Another version is installed: the trial still waits, and names both.
        packages = next((self.venv / "lib").glob("python3.*")) / "site-packages"
        (packages / "torch").mkdir()
        (packages / "torch/version.py").write_text("__version__ = '2.9.1'\n")
        refused = subprocess.run([self.venv / "bin/dttrain", "--version"], capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 69)
        self.assertIn(f"needs PyTorch {MINOR}, and the host has 2.9.1 in {packages}", refused.stderr)
        shutil.rmtree(packages / "torch")
        # LibTorch is installed: here a link to the folder of this build.
        torch = libtorch_of(self.build)
        if torch is None or not (torch / "torch/lib/libtorch_cpu.so").exists():
            self.skipTest(f"the trial was not trained: there is no torch/lib/libtorch_cpu.so in {torch}; ./dev setup")
        for name in ("torch", "nvidia"):
            (packages / name).symlink_to(torch / name)
        until("the trial was trained", lambda: "finished" in run("dtctl", "get", "trials", "1"), seconds=SECONDS)


if __name__ == "__main__":
    Wheel.build = pathlib.Path(sys.argv.pop(1)).resolve()
    if why := why_not() or why_not_installed():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    unittest.main()
