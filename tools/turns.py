"""turns.py: the tests that ./dev lint runs with sanitizers at this commit.

Half of them take turns by the commit's hash, and those of rooms that changed run always. Reads what
`ctest --show-only=json-v1` prints, from standard input, and prints the names of tests, one in a line.

usage: turns.py BUILD COMMIT [CHANGED-PATH…]
"""

import json
import sys

TURNS = 2
TESTS = "tests/"


def rooms(listing, build):
    """Returns the room of each test with the label sanitized: the folder in which it runs, below tests/."""
    found = {}
    for test in listing["tests"]:
        properties = {each["name"]: each["value"] for each in test["properties"]}
        if "sanitized" in properties.get("LABELS", []):
            found[test["name"]] = properties["WORKING_DIRECTORY"].removeprefix(f"{build}/{TESTS}")
    return found


def chosen(room_of_test, commit, changed):
    """Returns the names of tests to run: commit is its hash in hexadecimal, changed are paths in the repository."""
    turn = int(commit[:8], 16) % TURNS
    names = sorted(room_of_test)
    return [name for at, name in enumerate(names)
            if at % TURNS == turn or any(is_in(path, room_of_test[name]) for path in changed)]


def is_in(path, room):
    return path.removeprefix(TESTS).startswith(room + "/")


def main():
    build, commit, *changed = sys.argv[1:]
    for name in chosen(rooms(json.load(sys.stdin), build), commit, changed):
        print(name)


if __name__ == "__main__":
    main()
