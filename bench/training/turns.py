"""Runs rounds in which every variant trains once; each round begins with another variant."""

from collections.abc import Callable


def in_turns(runs: dict[str, Callable[[], dict]], rounds: int) -> dict[str, list[dict]]:
    """Returns each variant's results in each round."""
    told = {name: [] for name in runs}
    order = list(runs)
    for turn in range(rounds):
        for name in order[turn % len(order):] + order[: turn % len(order)]:
            told[name].append(runs[name]())
    return told
