"""Circles of units: a source and its header are one unit, and units that include each other in a circle are one knot.

A unit is known by its path without the suffix. Only includes of the repository's own files count, which name a path
from its root. A part of a unit that stands in a source of its own (`attempt_ends.cc` beside `attempt.h`) is a unit.
"""

import collections
import dataclasses
import re

INCLUDE = re.compile(r'^#include "([^"]+)\.h"')
SUFFIXES = (".cc", ".h")


@dataclasses.dataclass(frozen=True)
class Include:
    file: str
    line: int
    unit: str  # the included one

    def __str__(self) -> str:
        return f"{self.file}:{self.line} includes {self.unit}.h"


@dataclasses.dataclass(frozen=True)
class Circle:
    units: tuple[str, ...]        # sorted
    closed_by: tuple[Include, ...]  # a shortest way around, each include on it


Graph = dict[str, dict[str, list[Include]]]


def unit_of(path: str) -> str:
    return path.rsplit(".", 1)[0]


def graph_of(sources: dict[str, str]) -> Graph:
    """Returns each unit's includes by the included unit. `sources` holds the text of each file by its path."""
    graph: Graph = {unit_of(path): {} for path in sources if path.endswith(SUFFIXES)}
    for path, text in sorted(sources.items()):
        if not path.endswith(SUFFIXES):
            continue
        includes = graph[unit_of(path)]
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match[1] in graph and match[1] != unit_of(path):
                includes.setdefault(match[1], []).append(Include(path, number, match[1]))
    return graph


def components(graph: Graph) -> list[list[str]]:
    """Returns the strongly connected components (Tarjan's algorithm, with a stack of its own)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_units: list[str] = []
    is_open: set[str] = set()
    found = []
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_units.append(root)
        is_open.add(root)
        path = [(root, iter(graph[root]))]
        while path:
            unit, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[unit])
                if low[unit] == index[unit]:
                    start = open_units.index(unit)
                    found.append(open_units[start:])
                    is_open.difference_update(open_units[start:])
                    del open_units[start:]
            elif following not in index:
                index[following] = low[following] = len(index)
                open_units.append(following)
                is_open.add(following)
                path.append((following, iter(graph[following])))
            elif following in is_open:
                low[unit] = min(low[unit], index[following])
    return found


def shortest_way_around(graph: Graph, start: str, inside: set[str]) -> list[str]:
    """Returns the units of a shortest circle through `start`, which begins and ends with it."""
    came_from: dict[str, str] = {}
    waiting = collections.deque([start])
    while waiting:
        unit = waiting.popleft()
        for following in sorted(graph[unit]):
            if following == start:
                way = [unit, start]
                while way[0] != start:
                    way.insert(0, came_from[way[0]])
                return way
            if following in inside and following not in came_from:
                came_from[following] = unit
                waiting.append(following)
    return []


def circles(sources: dict[str, str]) -> list[Circle]:
    """Returns the circles of units, the largest first."""
    graph = graph_of(sources)
    found = []
    for component in components(graph):
        if len(component) < 2:
            continue
        ways = [shortest_way_around(graph, unit, set(component)) for unit in sorted(component)]
        way = min(ways, key=len)
        closed_by = [include for a, b in zip(way, way[1:]) for include in graph[a][b]]
        found.append(Circle(tuple(sorted(component)), tuple(closed_by)))
    return sorted(found, key=lambda circle: (-len(circle.units), circle.units))
