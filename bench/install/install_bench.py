"""How long a user waits: from an empty folder to the first trained trial, and for each call of dtctl.

Catalogue: each round begins with nothing: `python3 -m venv`, `pip install` of the wheel and of dtrain-libtorch from
local files, `dtctl up`, a corpus of bytes, and a trial that trains three steps of a tiny model. Then `dtctl --version`,
twenty times. The wheels are those of `./dev package --wheel --libtorch` in build/packages, what they need is in the
cache of ./dev setup.

Bars: 20 s to the first trained trial, 10 ms for `dtctl --version`, as medians. A missed bar exits with 1.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/deploy"), str(ROOT / "bench")]
import debian_root  # noqa: E402
import users_folder  # noqa: E402
from figures import machine  # noqa: E402

TRIAL_BAR_S = 20.0
VERSION_BAR_MS = 10.0
VERSIONS = 20  # calls of `dtctl --version` in a round
STEPS = ["python3 -m venv", "pip install", "dtctl up", "dtctl data tokenize", "first trained trial"]


def cache() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"


def wheels_in(packages: pathlib.Path, linked: bool) -> list[pathlib.Path]:
    """Returns dtrain's wheel and, unless LibTorch is linked, that of LibTorch."""
    found = []
    for pattern in ("dtrain-*-manylinux*.whl", *(() if linked else ("dtrain_libtorch-*.whl",))):
        wheel = max(packages.glob(pattern), key=lambda path: path.stat().st_mtime, default=None)
        if wheel is None:
            sys.exit(f"error: {packages} has no {pattern}; ./dev package --wheel --libtorch makes both wheels")
        found.append(wheel)
    return found


def milliseconds(program: str, variables: dict[str, str]) -> float:
    """Returns how long a call takes, with its start and its end. Python's subprocess would add its own milliseconds."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    pid = os.posix_spawn(program, [program, "--version"], variables, file_actions=quiet)
    _, status = os.waitpid(pid, 0)
    took = (time.perf_counter() - began) * 1000
    if status != 0:
        sys.exit(f"error: {program} --version ended with status {os.waitstatus_to_exitcode(status)}")
    return took


def measure(wheels: list[pathlib.Path], local: pathlib.Path, libtorch: pathlib.Path | None) -> tuple[dict, list[float]]:
    """Returns the seconds of each step of one round, and the milliseconds of calls of `dtctl --version`."""
    seconds = {}
    with tempfile.TemporaryDirectory(prefix="dtrain-bench-") as name:
        folder = pathlib.Path(name) / "home"
        folder.mkdir()
        venv = folder / "venv"
        run = users_folder.runner(folder, venv)
        steps = iter(STEPS)
        began = time.monotonic()

        def done() -> None:
            nonlocal began
            seconds[next(steps)] = time.monotonic() - began
            began = time.monotonic()

        debian_root.run(sys.executable, "-m", "venv", venv)
        done()
        run("pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--find-links", local, *wheels)
        if libtorch is not None:
            packages = next((venv / "lib").glob("python3.*")) / "site-packages"
            for part in ("torch", "nvidia"):
                (packages / part).symlink_to(libtorch / part)
        done()
        try:
            run("dtctl", "up", "--slots", "1")
            done()
            users_folder.make_corpus(folder, run)
            done()
            run("dtctl", "submit", "train.yaml", "--wait")
            done()
            shown = run("dtctl", "get", "trials", "1")
            if "finished" not in shown:
                sys.exit(f"error: the trial was not trained:\n{shown}")
        finally:
            subprocess.run([venv / "bin/dtctl", "down"], cwd=folder, env=users_folder.variables(folder, venv),
                           capture_output=True, check=False)
        calls = [milliseconds(str(venv / "bin/dtctl"), users_folder.variables(folder, venv)) for _ in range(VERSIONS)]
    return seconds, calls


def row(name: str, values: list[float], unit: str, bar: float | None = None) -> bool:
    """Prints a row of the table. Returns whether the median keeps the bar."""
    median = statistics.median(values)
    kept = bar is None or median <= bar
    shown = "" if bar is None else f"{bar:g} {unit}{'' if kept else ': missed'}"
    print(f"| {name} | {median:.1f} {unit} | {max(values):.1f} {unit} | {shown} |")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=pathlib.Path, default=ROOT / "build/packages", help="the wheels' folder")
    parser.add_argument("--rounds", type=int, default=5, help="(default: 5)")
    parser.add_argument("--tiny", action="store_true", help="one round, in which no bar counts; so CI runs it")
    parser.add_argument("--libtorch", type=pathlib.Path, help="link this LibTorch instead of installing its wheel")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    wheels = wheels_in(options.packages, options.libtorch is not None)
    rounds = [measure(wheels, cache() / "wheels", options.libtorch)
              for _ in range(1 if options.tiny else options.rounds)]
    print(f"{machine()}; {', '.join(f'{one.name} {one.stat().st_size / 1e6:.0f} MB' for one in wheels)}\n")
    print("| | median | slowest | bar |\n|---|---|---|---|")
    for step in STEPS:
        row(step, [seconds[step] for seconds, _ in rounds], "s")
    kept = row("**from nothing to the first trained trial**", [sum(seconds.values()) for seconds, _ in rounds], "s",
               TRIAL_BAR_S)
    kept &= row("**`dtctl --version`**", [call for _, calls in rounds for call in calls], "ms", VERSION_BAR_MS)
    sys.exit(0 if kept or options.tiny else 1)


if __name__ == "__main__":
    main()
