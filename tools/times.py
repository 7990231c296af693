"""Lists the ten slowest units of a build folder's last builds, and its ten slowest tests.

usage: times.py BUILD_FOLDER

Reads the logs of ninja and ctest: .ninja_log and Testing/Temporary/CTestCostData.txt. A unit that came from ccache
shows the time that ccache took.
"""

import pathlib
import sys

SHOWN = 10


def units(log: str) -> list[tuple[float, str]]:
    """Yields seconds and object of every compiled unit, from its newest build. A line: begin, end (ms), time, output,
    hash."""
    newest = {}
    for line in log.splitlines():
        words = line.split("\t")
        if len(words) == 5 and words[3].endswith((".o", ".gch")):
            newest[words[3]] = (int(words[1]) - int(words[0])) / 1e3
    return sorted(((seconds, name) for name, seconds in newest.items()), reverse=True)


def tests(costs: str) -> list[tuple[float, str]]:
    """Yields mean seconds and name of every test. A line: name, runs, seconds; after --- names that failed."""
    rows = [line.split() for line in costs.split("---")[0].splitlines()]
    return sorted(((float(row[2]), row[0]) for row in rows if len(row) == 3 and int(row[1]) > 0), reverse=True)


def table(title: str, rows: list[tuple[float, str]]) -> str:
    total = sum(seconds for seconds, _ in rows)
    lines = [f"{title}: {len(rows)}, {total:.0f} s in all; the slowest:"]
    return "\n".join(lines + [f"{seconds:8.1f} s  {name}" for seconds, name in rows[:SHOWN]])


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    log, costs = folder / ".ninja_log", folder / "Testing/Temporary/CTestCostData.txt"
    if not log.exists():
        print(f"{log} is absent: build first", file=sys.stderr)
        return 1
    print(table("units", units(log.read_text())))
    if costs.exists():
        print(table("tests", tests(costs.read_text())))
    else:
        print("tests: none ran in this folder; ./dev test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
