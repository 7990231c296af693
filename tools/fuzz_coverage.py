"""Prints the share of lines that ran, of the sources that a fuzz target reads with.

usage: fuzz_coverage.py BUILD SECONDS BYTES TARGET…

BUILD is of the preset cover. Each target runs its seeds, and inputs of at most BYTES bytes made from them, for SECONDS
seconds, a target for each core.
A target's sources are those whose headers it includes, except the test's own: the parser, and its helpers.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LLVM = "14"  # of clang++-14, whose profiles it reads


def sources_of(target: str) -> list[str]:
    text = (ROOT / "tests/fuzz" / f"{target}.cc").read_text()
    named = re.findall(r'^#include "([^"]+)\.h"', text, re.MULTILINE)
    return [f"{name}.cc" for name in named if not name.startswith("tests/") and (ROOT / f"{name}.cc").exists()]


def run(target: str, build: pathlib.Path, seconds: int, bytes_max: str,
        folder: pathlib.Path) -> list[tuple[str, int, int]]:
    """Returns (source, lines, lines that ran) for each source of `target`."""
    program = build / "fuzz" / target
    made = folder / target
    made.mkdir()
    seeds = ROOT / "tests/fuzz/seeds" / target
    # A profile for each process: first the runs over the seeds alone, as complete files, which may be longer.
    runs = [[str(seed) for seed in sorted(seeds.iterdir())],
            [f"-max_total_time={seconds}", f"-max_len={bytes_max}", f"-artifact_prefix={made}-", str(made), str(seeds)]]
    profiles = []
    for number, arguments in enumerate(runs if seconds else runs[:1]):
        profiles.append(str(folder / f"{target}-{number}.profraw"))
        done = subprocess.run([str(program), *arguments], env=os.environ | {"LLVM_PROFILE_FILE": profiles[-1]},
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{target} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    merged = str(folder / f"{target}.profdata")
    subprocess.run([f"llvm-profdata-{LLVM}", "merge", "-o", merged, *profiles], check=True)
    told = subprocess.run([f"llvm-cov-{LLVM}", "export", "-summary-only", "-ignore-filename-regex=generated/",
                           f"-instr-profile={merged}", str(program)], capture_output=True, text=True, check=True)
    # The sources were compiled as ../../NAME, and llvm-cov finds none under that name.
    lines_of = {os.path.relpath(os.path.normpath(one["filename"]), ROOT): one["summary"]["lines"]
                for one in json.loads(told.stdout)["data"][0]["files"]}
    return [(source, lines_of[source]["count"], lines_of[source]["covered"])
            for source in sources_of(target) if lines_of.get(source, {}).get("count")]


def main() -> int:
    build, seconds, bytes_max, targets = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    best: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory(prefix="dtrain-cover-") as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda target: (target, run(target, build, seconds, bytes_max, pathlib.Path(folder))),
                           targets)
        for target, rows in results:
            for source, lines, covered in rows:
                share = 100 * covered / lines
                print(f"{target:22} {source:40} {covered:5} of {lines:5} lines {share:6.1f} %", flush=True)
                best[source] = max(best.get(source, (0, 0)), (covered, lines))
    covered, lines = (sum(column) for column in zip(*best.values()))
    print(f"{'all':22} {f'{len(best)} sources':40} {covered:5} of {lines:5} lines {100 * covered / lines:6.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
