#!/usr/bin/env python3
"""slow.py: runs a command on a worse machine than this one, so that tests that depend on speed fail.

usage: slow.py [--busy N] [--one-core] [--idle] [--stop SECONDS] [--seed N] COMMAND [ARGUMENT…]

  --busy N          N loops compete for the processors
  --one-core        everything on one core, the loops too
  --idle            the command runs only when nothing else wants a processor
  --stop SECONDS    stops a random descendant of the command (SIGSTOP) at random moments, for up to SECONDS
  --seed N          seed of the random moments; printed, so that a run can be repeated

Exits as the command does. Example: tools/slow.py --one-core --busy 2 ctest --test-dir build/dev -R e2e
"""

import argparse
import ctypes
import os
import pathlib
import random
import signal
import sys
import threading

PR_SET_CHILD_SUBREAPER = 36
BETWEEN_STOPS = 0.3  # seconds, at most: about three stops a second


def children() -> dict[int, list[int]]:
    """Returns the children of every process that are neither stopped nor dead, by the number of the parent."""
    tree: dict[int, list[int]] = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except (OSError, ValueError):
                continue
            if state not in "TtZX":
                tree.setdefault(int(parent), []).append(int(folder.name))
    return tree


def descendants(spared: set[int]) -> list[int]:
    """Returns the descendants of this process. Processes that a test itself has stopped are not among them: they must
    not be woken."""
    tree, found, waiting = children(), [], [os.getpid()]
    while waiting:
        below = [pid for pid in tree.get(waiting.pop(), []) if pid not in spared]
        found += below
        waiting += below
    return found


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def stop_at_random(ended: threading.Event, longest: float, moments: random.Random, spared: set[int]) -> None:
    """Stops processes until the command has ended, and in any case wakes them again."""
    while not ended.wait(moments.uniform(0, BETWEEN_STOPS)):
        found = descendants(spared)
        if not found:
            continue
        chosen = moments.choice(found)
        send(chosen, signal.SIGSTOP)
        try:
            ended.wait(moments.uniform(0, longest))
        finally:
            send(chosen, signal.SIGCONT)


def start(words: list[str], idle: bool) -> int:
    """Starts a process that runs `words`; returns its number."""
    pid = os.fork()
    if pid:
        return pid
    try:
        if idle:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        os.execvp(words[0], words)
    except OSError as error:
        print(f"slow.py: {words[0]}: {error.strerror}", file=sys.stderr)
    os._exit(127)


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--one-core", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--stop", type=float, default=0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("name a command")
    print(f"slow.py: --seed {options.seed}", file=sys.stderr, flush=True)

    # A process whose parent has ended stays below this one, which must reap it as init would.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if options.one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    loops = {start([sys.executable, "-c", "while True: pass"], False) for _ in range(options.busy)}
    command = start(options.command, options.idle)
    ended = threading.Event()
    stopper = threading.Thread(
        target=stop_at_random, args=(ended, options.stop, random.Random(options.seed), loops))
    if options.stop > 0:
        stopper.start()
    try:
        while True:
            pid, status = os.wait()
            if pid == command:
                return os.waitstatus_to_exitcode(status) & 0xFF
    finally:
        ended.set()
        for loop in loops:
            send(loop, signal.SIGKILL)
        if options.stop > 0:
            stopper.join()


if __name__ == "__main__":
    sys.exit(main())
