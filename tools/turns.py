"""turns.py: the tests that ./dev lint runs with sanitizers at this commit.

Half of them take turns by the commit's hash, and those of rooms that changed run always. Reads what
`ctest --show-only=json-v1` prints, from standard input, and prints the names of tests, one in a line.

usage: turns.py COMMIT [CHANGED-PATH…]
"""

import json
import pathlib
import sys

TURNS = 2
TESTS = "tests/"


def rooms(listing, root):
    """Returns the room of each test with the label sanitized: the folder, below tests/, that declares it."""
    graph = listing["backtraceGraph"]
    found = {}
    for test in listing["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        if "sanitized" not in properties.get("LABELS", []):
            continue
        node = graph["nodes"][test["backtrace"]]
        folders = []
        while True:
            folders.append(str(pathlib.PurePath(graph["files"][node["file"]]).parent))
            if "parent" not in node:
                break
            node = graph["nodes"][node["parent"]]
        below = [folder.removeprefix(f"{root}/") for folder in folders]
        found[test["name"]] = next(folder.removeprefix(TESTS) for folder in below if folder.startswith(TESTS))
    return found


def chosen(room_of_test, commit, changed):
    """Returns the names of tests to run: commit is its hash in hexadecimal, changed are paths in the repository."""
    turn = int(commit[:8] or "0", 16) % TURNS
    names = sorted(room_of_test)
    return [name for at, name in enumerate(names)
            if at % TURNS == turn or any(is_in(path, room_of_test[name]) for path in changed)]


def is_in(path, room):
    return path.removeprefix(TESTS).startswith(room + "/")


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    for name in chosen(rooms(json.load(sys.stdin), root), sys.argv[1], sys.argv[2:]):
        print(name)


if __name__ == "__main__":
    main()
