"""turns.py: the tests and fuzz targets that ./dev lint runs at this commit.

A third of them take turns by the commit's hash, and those of which something changed run always. Prints their names,
one in a line.

usage: turns.py tests LABEL BUILD COMMIT [CHANGED-PATH…]   reads what `ctest --show-only=json-v1` prints
       turns.py fuzz COMMIT [CHANGED-PATH…]                reads the names of fuzz targets, one in a line
"""

import json
import sys

TURNS = 3
TESTS = "tests/"


def paths_of_tests(listing, label, build):
    """Returns the folders of each test with the label: of its room, and of the tests of this room, in which it
    runs."""
    found = {}
    for test in listing["tests"]:
        properties = {each["name"]: each["value"] for each in test["properties"]}
        if label in properties.get("LABELS", []):
            room = properties["WORKING_DIRECTORY"].removeprefix(f"{build}/{TESTS}")
            found[test["name"]] = [f"{room}/", f"{TESTS}{room}/"]
    return found


def paths_of_fuzz_targets(names):
    """Returns the source of each fuzz target and the folder of its seeds."""
    return {name: [f"{TESTS}fuzz/{name}.cc", f"{TESTS}fuzz/seeds/{name}/"] for name in names}


def chosen(paths_of, commit, changed):
    """Returns the names to run: paths_of has the paths of each, or how they begin, commit is its hash in hexadecimal,
    changed are paths in the repository."""
    turn = int(commit[:8], 16) % TURNS
    return [name for at, name in enumerate(sorted(paths_of))
            if at % TURNS == turn or any(path.startswith(tuple(paths_of[name])) for path in changed)]


def main():
    kind, *rest = sys.argv[1:]
    if kind == "tests":
        paths_of = paths_of_tests(json.load(sys.stdin), rest.pop(0), rest.pop(0))
    else:
        paths_of = paths_of_fuzz_targets(sys.stdin.read().split())
    commit, *changed = rest
    for name in chosen(paths_of, commit, changed):
        print(name)


if __name__ == "__main__":
    main()
