"""Functions for a program that runs as a dtrain trial. One file, only the standard library, Python 3.8.

dtrain puts a copy of it beside the program, as `dtrain`; the installed client offers the same functions:

    import dtrain
    lr = dtrain.parameters()["lr"]
    for step in range(dtrain.resumed_step() + 1, 101):
        ...
        dtrain.report(step, val_loss=loss)

Outside dtrain everything works: reports are printed, and there are no parameters. docs/guides/programs.md explains the
terms.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, Tuple

__all__ = ["checkpoint", "parameters", "progress", "report", "resume", "resumed_step", "rungs", "should_stop"]

_SETTLED_SECONDS = 2.0  # saved files without a change for so long are complete
_RESTLESS_SECONDS = 10.0  # after changes for so long, files that nobody writes are complete sooner:
_PAUSE_SECONDS = 0.5  # after so long without a change
_WARNED_SECONDS = 60.0  # after changes for so long without a copy, the log names the files
_LOOK_SECONDS = 0.25  # between two looks for saved files
_USAGE = "usage: python3 -m dtrain keep PATTERN... -- COMMAND...   (a pattern is a path below this folder; quote its *)"

_Saved = Dict[str, Tuple[int, int]]  # size and time of change of each file

_lock = threading.Lock()
_stop: threading.Event | None = None  # set once SIGTERM came; None: should_stop was not called yet


def parameters() -> dict[str, Any]:
    """Returns the values of the trial's parameters by name, and its seed."""
    return json.loads(os.environ.get("DTRAIN_PARAMETERS") or "{}")


def report(step: int, *named: dict[str, Any], **metrics: Any) -> None:
    """Reports values measured after `step`, which counts from 0 or 1 and rises. With several ranks, only rank 0
    reports.

    `loss`, `learning_rate`, `grad_norm`, `tokens` and the other columns of a step, if nothing else is given, are a
    point of the training curves; anything else is an evaluation, which a search may use. Several calls for one step
    make one report. Names that are not valid in Python go into a dict: report(3, {"val/AR@100": 0.5}). A value that is
    not a number is dropped, with a line in the trial's log.
    """
    line = {"step": _step(step)}
    for several in (*named, metrics):
        line.update((str(name), _number(value)) for name, value in several.items())
    _say(line)


def checkpoint(folder: str | os.PathLike[str], step: int) -> None:
    """Reports that `folder` holds everything needed to go on from `step`.

    dtrain takes the folder over: it moves it, and the program must not write to it any more. A folder outside
    DTRAIN_CHECKPOINT_DIR is copied there first.
    """
    if not _is_first():
        return
    home = os.environ.get("DTRAIN_CHECKPOINT_DIR")
    if home:
        home, folder = os.path.realpath(home), os.path.realpath(folder)
        if os.path.commonpath([home, folder]) != home:
            inside = os.path.join(home, "saving-%d" % step)
            shutil.rmtree(inside, ignore_errors=True)
            shutil.copytree(folder, inside)
            folder = inside
    _say({"checkpoint": folder, "step": int(step)})


def progress(share: float) -> None:
    """Reports the share of the work that is done, from 0 to 1, if steps do not show it."""
    _say({"progress": min(1.0, max(0.0, float(share)))})


def resume() -> str | None:
    """Returns the folder of the checkpoint to go on from; None: from the start. The program must not write to it."""
    return os.environ.get("DTRAIN_RESUME") or None


def resumed_step() -> int:
    """Returns the step of that checkpoint; 0: from the start."""
    return int(os.environ.get("DTRAIN_RESUME_STEP") or 0)


def rungs() -> list[int]:
    """Returns the steps at which a search compares this trial with others: evaluate at them."""
    return [int(step) for step in (os.environ.get("DTRAIN_RUNGS") or "").split(",") if step]


def should_stop() -> bool:
    """Returns whether SIGTERM came: save a checkpoint and exit. It listens from its first call on, in the main thread.
    """
    global _stop
    if _stop is None:
        came = _stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: came.set())
    return _stop.is_set()


def keep(patterns: list[str], command: list[str]) -> int:
    """Runs a program that knows nothing of dtrain, and returns its exit status.

    Each time that it has saved files of these patterns, they become a checkpoint of the newest reported step. At a
    resume they are there again before the program starts.
    """
    _restore()
    kept = files = _files(patterns)
    _be_known()
    try:
        child = _started(command)
    except OSError as error:
        print("dtrain: cannot start %s: %s" % (command[0], error.strerror), file=sys.stderr, flush=True)
        return 127 if isinstance(error, FileNotFoundError) else 126
    home = os.environ.get("DTRAIN_CHECKPOINT_DIR") if _is_first() else None
    folders: list[str] = []
    pause, status = _LOOK_SECONDS if home else None, None
    changes = _Changes(kept, time.monotonic())
    while status is None:
        try:
            status = child.wait(pause)
        except subprocess.TimeoutExpired:
            pass
        if not home:
            continue
        began = time.monotonic()
        files = _files(patterns)
        # A look at many files, or at a slow file system, must not slow the program down.
        pause = max(_LOOK_SECONDS, 10 * (time.monotonic() - began))
        changes.note(files, time.monotonic())
        # A program that failed may have left a file half written.
        complete = status == 0 if status is not None else changes.complete(time.monotonic(), _being_written)
        if complete and files and files != kept:
            folder = os.path.join(home, "kept-%d" % time.monotonic_ns())
            if _copied(patterns, files, folder):
                kept = files
                changes.copied()
                _say({"checkpoint": folder})
                folders.append(folder)
                # Nobody took over an older one that is still there. The last may be on its way.
                if len(folders) > 2:
                    shutil.rmtree(folders.pop(0), ignore_errors=True)
    if home and status == 0 and not files:
        print("dtrain: no file matched %s: nothing was kept" % " ".join(patterns), file=sys.stderr, flush=True)
    return status if status >= 0 else 128 - status


class _Changes:
    """The changes of saved files since they were last copied: decides when they are complete."""

    def __init__(self, files: _Saved, now: float) -> None:
        self._files = files
        self._last = now  # change
        self._first: float | None = None  # change since the last copy
        self._warned = False

    def note(self, files: _Saved, now: float) -> None:
        """Notes what a look found. Names the files, once, if they have changed for too long to be copied."""
        if files == self._files:
            return
        changed = [name for name in sorted(files) if files[name] != self._files.get(name)]
        self._files, self._last = files, now
        if self._first is None:
            self._first = now
        if now - self._first >= _WARNED_SECONDS and changed and not self._warned:
            self._warned = True
            print("dtrain: nothing was kept for %d s, since saved files change all the time: %s. Save less often, or "
                  "name patterns that leave out logs" % (now - self._first, ", ".join(changed[:3])),
                  file=sys.stderr, flush=True)

    def complete(self, now: float, being_written: Callable[[_Saved], bool]) -> bool:
        """Returns whether no save is under way."""
        quiet = now - self._last
        if quiet >= _SETTLED_SECONDS:
            return True
        restless = self._first is not None and now - self._first >= _RESTLESS_SECONDS
        return restless and quiet >= _PAUSE_SECONDS and not being_written(self._files)

    def copied(self) -> None:
        """Notes that the files were copied."""
        self._first = None


def _being_written(files: _Saved) -> bool:
    """Returns whether a process below this one has one of the files open for writing."""
    paths = {os.path.realpath(name) for name in files}
    for process in _below(os.getpid()):
        for link in glob.glob("/proc/%d/fd/*" % process):
            try:
                if os.readlink(link) not in paths:
                    continue
                with open(link.replace("/fd/", "/fdinfo/"), encoding="ascii") as facts:
                    flags = next(line for line in facts if line.startswith("flags:"))
            except (OSError, StopIteration):  # it was closed meanwhile
                continue
            if int(flags.split()[1], 8) & (os.O_WRONLY | os.O_RDWR):
                return True
    return False


def _below(process: int) -> list[int]:
    """Returns the processes that a process started, and those that they started."""
    found: list[int] = []
    for threads in glob.glob("/proc/%d/task/*/children" % process):
        try:
            with open(threads, encoding="ascii") as file:
                children = [int(word) for word in file.read().split()]
        except OSError:  # it ended meanwhile
            continue
        for child in children:
            found += [child, *_below(child)]
    return found


def _restore() -> None:
    """Puts the files of the checkpoint back to which a resume goes."""
    saved = resume()
    for name in _files([""], saved) if saved else ():
        if name == "manifest.json":
            continue
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        if os.path.islink(name):  # the file that it points to keeps its content
            os.unlink(name)
        shutil.copy(os.path.join(saved, name), name)
        os.chmod(name, 0o600 | os.stat(name).st_mode)


def _be_known() -> None:
    """Names this process so that dtrain's runner knows it. Where that sends SIGTERM to every process of a trial, it
    leaves out the program, which gets it from here."""
    try:
        with open("/proc/self/comm", "w", encoding="ascii") as name:
            name.write("dtrain-keep")
    except OSError:  # not on Linux
        pass


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    """Starts a program that gets this process's SIGTERM."""
    child: subprocess.Popen[bytes] | None = None
    stopped = False

    def stop(number: int, frame: Any) -> None:
        nonlocal stopped
        stopped = True
        if child is not None:
            child.terminate()

    signal.signal(signal.SIGTERM, stop)
    # A terminal sends Ctrl-C to the program too. An ignored signal would be ignored there as well.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    # The program inherits the descriptor of reports, as it would without this process.
    child = subprocess.Popen(command, close_fds=False, preexec_fn=_death_with_parent())
    if stopped:  # while it started
        child.terminate()
    return child


def _death_with_parent() -> Any:
    """Returns a function that has the kernel kill the process that calls it once its parent is dead: nothing else would
    end a program whose keeper was killed. None where the system has no such thing."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda: prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


def _files(patterns: list[str], folder: str = ".") -> _Saved:
    """Returns the files below `folder` that a pattern names, or that lie in a folder that it names.
    A link to a file counts as this file."""
    found: _Saved = {}
    for pattern in patterns:
        for path in glob.glob(os.path.join(glob.escape(folder), pattern), recursive=True):
            below = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names] or [path]
            for file in below:
                try:
                    facts = os.stat(file)
                except OSError:  # the program removed it meanwhile, or it is a link to nothing
                    continue
                if stat.S_ISREG(facts.st_mode):
                    found[os.path.relpath(file, folder)] = (facts.st_size, facts.st_mtime_ns)
    return found


def _copied(patterns: list[str], files: _Saved, folder: str) -> bool:
    """Copies the files into a new folder. Returns whether none changed meanwhile; otherwise nothing is left of it."""
    try:
        for name in files:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copy2(name, os.path.join(folder, name))
        if _files(patterns) == files:
            return True
    except FileNotFoundError:
        pass
    except OSError as error:
        print("dtrain: cannot keep what the program saved: %s" % error, file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    return False


def main() -> None:
    """Runs `python3 -m dtrain keep PATTERN... -- COMMAND...`."""
    words = sys.argv[1:]
    middle = words.index("--") if "--" in words else 0
    patterns, command = words[1:middle], words[middle + 1:]
    below = all(not os.path.isabs(each) and ".." not in each.split("/") for each in patterns)
    if words[:1] != ["keep"] or not patterns or not command or not below:
        sys.exit(_USAGE)
    sys.exit(keep(patterns, command))


def _is_first() -> bool:
    """Returns whether this is rank 0, which alone reports."""
    # RANK is set by a launcher, which the trial may not have.
    return os.environ.get("DTRAIN_RANK", os.environ.get("RANK", "0")) == "0"


def _step(step: Any) -> int | float | str:
    """Returns an integer. Passes any other value on to the runner, which reports it."""
    try:
        integer = int(step)
        return integer if integer == step else float(step)
    except (TypeError, ValueError, OverflowError):
        return str(step)[:100]


def _number(value: Any) -> Any:
    """Returns a number. Passes any other value on as text to the runner, which reports it."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, bytes)):
        return str(value)[:100]
    try:
        return float(value)  # a number of NumPy or PyTorch
    except (TypeError, ValueError, RuntimeError):
        return str(value)[:100]


def _say(line: dict[str, Any]) -> None:
    """Writes a line to the runner; outside dtrain, to standard output."""
    if not _is_first():
        return
    text = json.dumps(line) + "\n"
    path = os.environ.get("DTRAIN_REPORT")
    if not path:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    import fcntl  # programs run on Linux; the client, which has this file too, runs anywhere

    with _lock:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            # Lines above 4 KiB are written in pieces, and another process may write too.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            data = text.encode()
            while data:
                data = data[os.write(descriptor, data):]
        finally:
            os.close(descriptor)


def _give_way() -> None:
    """Replaces itself with the installed client. dtrain's copy beside a program hides an installed client of the same
    name, which offers all of this and more: if there is one, `import dtrain` gives it."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.realpath(__file__))
    found = PathFinder.find_spec("dtrain", [path for path in sys.path if os.path.realpath(path or ".") != here])
    if found is None or found.submodule_search_locations is None or found.loader is None:
        return
    mine = sys.modules["dtrain"]
    client = module_from_spec(found)
    sys.modules["dtrain"] = client
    try:
        found.loader.exec_module(client)
    except ImportError:  # the client's dependencies are missing; reports need none
        sys.modules["dtrain"] = mine
        return
    for name in __all__:
        if not hasattr(client, name):
            setattr(client, name, getattr(mine, name))


if __name__ == "dtrain":
    _give_way()
elif __name__ == "__main__":
    main()
