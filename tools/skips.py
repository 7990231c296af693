"""Lists the skipped cases of the last run of ctest, with reasons: ctest counts an entry with skipped cases as passed.

usage: skips.py BUILD_FOLDER

Reads ctest's log, Testing/Temporary/LastTest.log.
"""

import pathlib
import re
import sys

ENTRY = re.compile(r"\d+/\d+ Testing: (\S+)")
GTEST_REASON = re.compile(r".+:\d+: Skipped$")
GTEST_CASE = re.compile(r"\[  SKIPPED \] (\S+) \(\d+ ms\)$")
# A name, or the case's own description.
PYTHON_CASE = re.compile(r"(?:\w+ \()?(.+?)\)? \.\.\. skipped ['\"](.*)['\"]$")
WHOLE = re.compile(r"skipped: (.+)$")


def skips(log: str) -> list[tuple[str, str, str]]:
    """Yields entry, case and reason of each skip; the case is "" if the entry was skipped completely."""
    found, entry, reason, takes = [], "", "", False
    for line in log.splitlines():
        if match := ENTRY.match(line):
            entry, reason, takes = match[1], "", False
        elif GTEST_REASON.match(line):
            reason, takes = "", True  # its lines follow, up to an empty one
        elif match := GTEST_CASE.match(line):
            found.append((entry, match[1], reason))
            reason, takes = "", False
        elif match := PYTHON_CASE.match(line):
            found.append((entry, match[1], match[2]))
        elif match := WHOLE.match(line):
            found.append((entry, "", match[1]))
        elif takes:
            takes = bool(line.strip())
            reason = f"{reason} {line.strip()}".strip()
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    log = pathlib.Path(sys.argv[1]) / "Testing/Temporary/LastTest.log"
    if not log.exists():
        print(f"{log} is absent: run ctest first", file=sys.stderr)
        return 1
    found = skips(log.read_text(encoding="utf-8", errors="replace"))
    if not found:
        return 0
    print(f"skipped here, though their entries may count as passed: {len(found)}")
    for entry, case, reason in found:
        print(f"  {entry}{': ' if case else ''}{case}: {reason or 'no reason given'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
