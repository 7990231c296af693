"""Instructions of the coordinator's hot paths, compared with those of the last release.

usage: hot_paths.py --program HOT_PATHS [--figures FILE] [--trials N] [--write]

Runs hot_paths under valgrind's callgrind and prints, for each path, the instructions of one (a placed trial, a row, …)
beside the committed figure. Instructions differ by less than a hundredth from run to run, whatever else the machine
does, so a change that costs shows where times would not.

Exits with 1 when a path takes more instructions than its figure and the tolerance allow; with 77, which ctest takes as
skipped, when there is no valgrind or the figures are of another compiler. --write writes the file anew, for a release
or for a cost that is meant.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
PATIENCE_S = 500
ROW = re.compile(r"^(\w+) +(\d+) +[\d.]+ us$")


def count(program, trials, folder):
    """Returns the compiler, and the instructions of one of each path."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={folder}/out", program,
         "--trials", str(trials)],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if run.returncode != 0:
        sys.exit(f"{program} ended with {run.returncode} under valgrind:\n{run.stdout}{run.stderr}")
    compiler, done = "", {}
    for line in run.stdout.splitlines():
        if line.startswith("compiler"):
            compiler = line.split(maxsplit=1)[1]
        elif row := ROW.match(line):
            done[row[1]] = int(row[2])
    instructions = {}
    for dump in pathlib.Path(folder).glob("out.*"):
        text = dump.read_text(errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (\w+)$", text, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if name and total:
            instructions[name[1]] = round(int(total[1]) / done[name[1]])
    if set(instructions) != set(done):
        sys.exit(f"valgrind counted {sorted(instructions)}, and the program has {sorted(done)}: was it compiled "
                 "without valgrind's header?")
    return compiler, {name: instructions[name] for name in done}


def compare(counted, figures):
    """Prints the table. Returns the paths that cost too much."""
    worse = []
    tolerance = figures["tolerance"]
    print(f"{'':10} {'instructions':>12} {figures['release']:>12}")
    for name, now in counted.items():
        before = figures["instructions"].get(name)
        if before is None:
            print(f"{name:10} {now:12} {'–':>12}")
            continue
        much = now > before * (1 + tolerance)
        print(f"{name:10} {now:12} {before:12} {100 * (now / before - 1):+6.1f} %{'  MISSED' if much else ''}")
        if much:
            worse.append(name)
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--figures", type=pathlib.Path, default=HERE / "hot_paths.json")
    parser.add_argument("--trials", type=int, help="of the experiment; those of the figures")
    parser.add_argument("--write", metavar="RELEASE", help="write the counted figures, as those of this release")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed; it counts the instructions")
        return SKIPPED
    figures = json.loads(options.figures.read_text())
    trials = options.trials or figures["trials"]
    with tempfile.TemporaryDirectory() as folder:
        compiler, counted = count(options.program, trials, folder)
    if options.write:
        figures.update(release=options.write, compiler=compiler, trials=trials, instructions=counted)
        options.figures.write_text(json.dumps(figures, indent=2) + "\n")
    if compiler != figures["compiler"]:
        print(f"skipped: compiled by g++ {compiler}, and the figures are of {figures['compiler']}")
        return SKIPPED
    worse = compare(counted, figures)
    if not worse:
        return 0
    print(f"More instructions than in {figures['release']} and {100 * figures['tolerance']:.0f} % more: "
          f"{', '.join(worse)}. Find them with callgrind_annotate; if the cost is meant, --write new figures.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
