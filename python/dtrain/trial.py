"""What a program that runs as a dtrain trial may say and ask. One file, the standard library alone, Python 3.8.

dtrain puts a copy of it beside the program, as `dtrain`; the installed client offers the same functions:

    import dtrain
    lr = dtrain.parameters()["lr"]
    for step in range(dtrain.resumed_step() + 1, 101):
        ...
        dtrain.report(step, val_loss=loss)

Outside dtrain everything works: reports are printed, and there are no parameters. docs/guides/programs.md says what the
words mean.
"""

import json
import os
import shutil
import signal
import sys
import threading

__all__ = ["checkpoint", "parameters", "progress", "report", "resume", "resumed_step", "rungs", "should_stop"]

_lock = threading.Lock()
_stop = None  # set once SIGTERM came; None: nobody has asked


def parameters():
    """The values of the trial's parameters by name, and its seed."""
    return json.loads(os.environ.get("DTRAIN_PARAMETERS") or "{}")


def report(step, *named, **metrics):
    """Tells what was measured after `step`, which counts from 0 or 1 and rises. Of several ranks, rank 0 alone tells.

    `loss`, `learning_rate`, `grad_norm`, `tokens` and the other columns of a step, where nothing else is there, are a
    point of the training curves; anything else is an evaluation, which a search may go by. What is told of one step in
    several calls is one report. Names that are no names of Python come in a dict: report(3, {"val/AR@100": 0.5}). A
    value that is no number is left out by itself, and the trial's log says so.
    """
    line = {"step": _step(step)}
    for several in (*named, metrics):
        line.update((str(name), _number(value)) for name, value in several.items())
    _say(line)


def checkpoint(folder, step):
    """Tells that everything to go on from `step` is in `folder`, complete.

    dtrain takes the folder over: it moves it, and the program must not write to it any more. A folder elsewhere than in
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


def progress(share):
    """Tells how much of the whole is done, from 0 to 1, where steps do not say it."""
    _say({"progress": min(1.0, max(0.0, float(share)))})


def resume():
    """The folder of the checkpoint to go on from; None: from the start. It must not be written to."""
    return os.environ.get("DTRAIN_RESUME") or None


def resumed_step():
    """The step of that checkpoint; 0: from the start."""
    return int(os.environ.get("DTRAIN_RESUME_STEP") or 0)


def rungs():
    """The steps at which a search compares this trial with others: evaluate there."""
    return [int(step) for step in (os.environ.get("DTRAIN_RUNGS") or "").split(",") if step]


def should_stop():
    """Whether SIGTERM came: save a checkpoint and exit. It listens from its first call on, in the main thread."""
    global _stop
    if _stop is None:
        _stop = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: _stop.set())
    return _stop.is_set()


def _is_first():
    # RANK is that of a launcher, which the trial may do without.
    return os.environ.get("DTRAIN_RANK", os.environ.get("RANK", "0")) == "0"


def _step(step):
    """A whole number, or what the runner says is none."""
    try:
        whole = int(step)
        return whole if whole == step else float(step)
    except (TypeError, ValueError, OverflowError):
        return str(step)[:100]


def _number(value):
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, bytes)):
        return str(value)[:100]
    try:
        return float(value)  # of NumPy and PyTorch
    except (TypeError, ValueError, RuntimeError):
        return str(value)[:100]  # no number: the runner names it, and the training goes on


def _say(line):
    if not _is_first():
        return
    text = json.dumps(line) + "\n"
    path = os.environ.get("DTRAIN_REPORT")
    if not path:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    import fcntl  # programs run on Linux; the client, which has this file too, anywhere

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


def _give_way():
    """The copy that dtrain puts beside a program stands before an installed client of the same name, which offers all
    of this and more: where there is one, it is what `import dtrain` gives."""
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
    except ImportError:  # what the client itself needs is missing; reports need nothing
        sys.modules["dtrain"] = mine
        return
    for name in __all__:
        if not hasattr(client, name):
            setattr(client, name, getattr(mine, name))


if __name__ == "dtrain":
    _give_way()
