"""Rounds in which everyone trains once, each beginning with another."""

from collections.abc import Callable


def in_turns(runs: dict[str, Callable[[], dict]], rounds: int) -> dict[str, list[dict]]:
    """What each told in each round."""
    told = {name: [] for name in runs}
    order = list(runs)
    for turn in range(rounds):
        for name in order[turn % len(order):] + order[: turn % len(order)]:
            told[name].append(runs[name]())
    return told
