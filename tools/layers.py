"""Layers: a folder that is a target of its own includes headers only of the targets that it links.

The linker does not see it: all static libraries end in one program. So this reads each folder's CMakeLists.txt.
"""

import pathlib
import re

ROOM = re.compile(r"dt_room\((\w+)[^)]*?\bLINKS\b([^)]*)\)", re.S)
INCLUDE = re.compile(r'^#include "([^"]+)/[^/"]+"')


def links_of(root: pathlib.Path, top: str) -> dict[str, set[str]]:
    """Returns, for each folder of `top` with a target, itself and the folders of `top` that it links."""
    folder_of, direct = {}, {}
    for file in sorted((root / top).rglob("CMakeLists.txt")):
        for name, links in ROOM.findall(file.read_text(encoding="utf-8")):
            folder_of[name] = file.parent.relative_to(root).as_posix()
            direct[name] = set(links.split())
    reached = {}
    for name in folder_of:
        waiting, seen = [name], set()
        while waiting:
            one = waiting.pop()
            if one in folder_of and one not in seen:
                seen.add(one)
                waiting.extend(direct[one])
        reached[folder_of[name]] = {folder_of[one] for one in seen}
    return reached


def findings(root: pathlib.Path, top: str) -> list[tuple[str, int, str]]:
    """Returns (file, line, text) for each include of a folder of `top` that the file's folder does not link."""
    found = []
    links = links_of(root, top)
    for folder, reached in links.items():
        for file in sorted((root / folder).glob("*.[ch]*")):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if match and match[1] in links and match[1] not in reached:
                    found.append((file.relative_to(root).as_posix(), number, f"{folder} does not link {match[1]}"))
    return found
