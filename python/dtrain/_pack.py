"""Packs a folder of code into bytes: the same bytes, and so the same digest, as dtctl. common/pack/pack.h and folder.h
have the format and the rules for files; the coordinator checks every path and link."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import stat
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Callable, Iterator, Sequence

from . import _limits
from .errors import UsageError

_MAGIC = b"dtrain code 1\n"
_HEADER = struct.Struct("<cIQ")
_FIX = "leave some out with .gitignore, or name a smaller folder"
# Left out where git is not asked, and within a folder that git does not list by file.
_LEFT_OUT = frozenset((b".git", b".hg", b".svn", b"__pycache__", b".venv", b"venv", b"node_modules",
                       b".ipynb_checkpoints", b".mypy_cache", b".ruff_cache", b".pytest_cache", b".tox"))
# Variables that a hook of git sets, and that would point to another work tree.
_NOT_FOR_GIT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS")


@dataclass(frozen=True)
class Packed:
    """A packed folder. ``note`` is a note for the person, if there is one."""

    content: bytes
    digest: str
    files: int
    revision: str = ""
    changes: str = ""
    note: str = ""


def _git(folder: bytes, *words: str) -> bytes | None:
    """Runs git and returns its output; None if there is no git, it refuses the folder, or it takes too long."""
    variables = {**{name: text for name, text in os.environ.items() if name not in _NOT_FOR_GIT},
                 "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(["git", "-C", folder, "--no-pager", *words], stdin=subprocess.DEVNULL,
                              capture_output=True, env=variables, timeout=_limits.CALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _below(folder: bytes, below: bytes, found: set[bytes]) -> None:
    """Adds the files under `below`; stops one file beyond the limit."""
    with os.scandir(os.path.join(folder, below)) as entries:
        for entry in entries:
            if entry.name in _LEFT_OUT:
                continue
            path = os.path.join(below, entry.name)
            if entry.is_dir(follow_symlinks=False):
                _below(folder, path, found)
            else:
                found.add(path)
            if len(found) > _limits.CODE_FILES:
                return


def _not_ignored(folder: bytes) -> bytes | None:
    """Lists the files that git would track if the folder, which is in no work tree, were one. None: as for _git."""
    try:
        with tempfile.TemporaryDirectory(prefix="dtrain-git-") as empty:
            if _git(folder, "init", "--quiet", "--bare", "--template=", empty) is None:
                return None
            return _git(folder, f"--git-dir={empty}", "--work-tree=.", "ls-files", "--others", "--exclude-standard",
                        "-z")
    except OSError:
        return None


def _outside(folder: bytes) -> list[bytes]:
    """Lists the files to pack if the folder is in no work tree. A .gitignore may name a secret, so it is either applied
    or nothing is packed."""
    found: set[bytes] = set()
    _below(folder, b"", found)
    ignores = sorted(path for path in found if os.path.basename(path) == b".gitignore")
    if not ignores and len(found) <= _limits.CODE_FILES:
        return sorted(found)
    kept = _not_ignored(folder)
    if kept is not None:
        return [path for path in _in_full(folder, kept) if _LEFT_OUT.isdisjoint(path.split(b"/"))]
    if not ignores:
        return sorted(found)  # too many; the caller refuses them
    raise UsageError(f"code: the folder '{os.fsdecode(folder)}' has a {os.fsdecode(ignores[0])}, which git reads, and "
                     "git could not be asked; install git, or move what is not to travel out of the folder and remove "
                     "the file")


def _has_repository(folder: bytes) -> bool:
    """Returns whether the folder, or one above it, has a git repository."""
    place = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(place, b".git")):
        if place == os.path.dirname(place):
            return False
        place = os.path.dirname(place)
    return True


def _in_full(folder: bytes, by_git: bytes) -> list[bytes]:
    """Returns the files that git lists, in byte order. Git names an inner work tree by its folder: adds its files."""
    found: set[bytes] = set()
    for name in filter(None, by_git.split(b"\0")):
        path = name.rstrip(b"/")
        try:
            facts = os.lstat(os.path.join(folder, path))
        except OSError:
            continue  # removed, but not committed
        if stat.S_ISDIR(facts.st_mode):  # a work tree within this one
            _below(folder, path, found)
        else:
            found.add(path)
    return sorted(found)


_WALKED = 200_000  # entries that one walk over a folder visits
_MADE_FILES = (b".pyc", b".pyo", b".o", b".a", b".log", b".tmp", b".swp", b".out")
_MADE_FOLDERS = frozenset((b"build", b"dist", b"target", b"out", b"wandb", b"mlruns", b"lightning_logs", b"runs",
                           b"logs", b"htmlcov"))


def _walk(folder: bytes, skips: Callable[[bytes], bool]) -> Iterator[tuple[bytes, int]]:
    """Yields path and size of each file and link below; skips folders of version control, and those in `skips`."""
    walked = 0
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one not in (b".git", b".hg", b".svn") and not skips(one)]
        links = [one for one in folders if os.path.islink(os.path.join(place, one))]
        for name in files + links:
            walked += 1
            if walked > _WALKED:
                return
            path = os.path.join(place, name)
            try:
                size = 0 if os.path.islink(path) else os.path.getsize(path)
            except OSError:
                size = 0
            yield os.path.relpath(path, folder), size


def _parts(path: bytes) -> list[str]:
    """Returns the parts of a path between slashes, without empty ones."""
    return [part for part in os.fsdecode(path).split("/") if part not in ("", ".")]


def matches(pattern: str, path: bytes) -> bool:
    """Matches as common/pack/pattern.h does: part by part, ** stands for any number of parts, and a folder includes
    everything below it."""
    wanted, parts = _parts(os.fsencode(pattern)), _parts(path)
    if not wanted:
        return False
    has = [[True] * (len(parts) + 1) for _ in range(len(wanted) + 1)]
    for i in reversed(range(len(wanted))):
        has[i][len(parts)] = wanted[i] == "**" and has[i + 1][len(parts)]
        for j in reversed(range(len(parts))):
            if wanted[i] == "**":
                has[i][j] = has[i + 1][j] or has[i][j + 1]
            else:
                has[i][j] = fnmatch.fnmatchcase(parts[j], wanted[i]) and has[i + 1][j + 1]
    return has[0][0]


def _include(folder: bytes, patterns: Sequence[str], paths: list[bytes]) -> list[bytes]:
    """Returns the paths together with the files that match the patterns."""
    if not patterns:
        return paths
    every = [path for path, _ in _walk(folder, lambda name: False)]
    found = set(paths)
    for pattern in patterns:
        matched = [path for path in every if matches(pattern, path)]
        if not matched:
            raise UsageError(f"code: no file below the folder '{os.fsdecode(folder)}' matches '{pattern}' of include; "
                             "correct it, or remove it")
        found.update(matched)
    return sorted(found)


def _is_made_folder(name: bytes) -> bool:
    """Returns whether tools make folders of this name, so that nobody misses their files."""
    return name.startswith(b".") or name.endswith(b".egg-info") or name in _LEFT_OUT or name in _MADE_FOLDERS


def _left_behind(folder: bytes, travel: list[bytes]) -> str:
    """Returns a note for the person about files that git ignores; "" if there are none."""
    travels = set(travel)
    left = []
    for path, size in _walk(folder, _is_made_folder):
        name = os.path.basename(path)
        if path in travels or name.startswith(b".") or name.endswith(b"~") or name.endswith(_MADE_FILES):
            continue
        left.append((path, size))
    if not left:
        return ""
    left.sort(key=lambda one: (-one[1], one[0]))
    size = sum(one[1] for one in left)
    names = ", ".join(os.fsdecode(path) for path, _ in left[:3]) + (", …" if len(left) > 3 else "")
    largest = os.fsdecode(left[0][0])
    extension = os.path.splitext(largest)[1]
    pattern = os.path.join(os.path.dirname(largest), "*" + extension) if extension and len(left) > 1 else largest
    fix = (f"write code: {{folder: …, include: [{pattern}]}}" if size <= _limits.CODE_BYTES else
           "put them on the workers' hosts and name them by an absolute path, since at most "
           f"{_limits.CODE_BYTES >> 20} MiB travel")
    files = "1 file" if len(left) == 1 else f"{len(left)} files"
    return (f"git ignores {files} of the code's folder, {size / 2**20:.1f} MiB, which stay behind: {names}; if the "
            f"program needs them, {fix}")


def _sized(folder: bytes, paths: list[bytes]) -> list[tuple[bytes, bytes, int]]:
    """Returns kind, path and size of each file and link."""
    sized = []
    for path in paths:
        try:
            facts = os.lstat(os.path.join(folder, path))
        except OSError:
            continue
        if stat.S_ISLNK(facts.st_mode):
            sized.append((b"l", path, facts.st_size))
        elif stat.S_ISREG(facts.st_mode):
            sized.append((b"x" if facts.st_mode & stat.S_IXUSR else b"f", path, facts.st_size))
    return sized


def _check_sizes(sized: list[tuple[bytes, bytes, int]]) -> None:
    """Raises UsageError if the files are too many or too large. Runs before any is read, so that a folder of data is
    refused at once."""
    if len(sized) > _limits.CODE_FILES:
        raise UsageError(f"the folder of the code has {len(sized)} files; the limit is {_limits.CODE_FILES}; {_FIX}")
    size = len(_MAGIC) + sum(_HEADER.size + len(path) + length for _, path, length in sized)
    if size <= _limits.CODE_BYTES:
        return
    largest = sorted(sized, key=lambda one: (-one[2], one[1]))[:3]
    names = ", ".join(f"'{os.fsdecode(path)}' ({length / 2**20:.1f} MiB)" for _, path, length in largest)
    raise UsageError(f"the code has {size / 2**20:.1f} MiB; the limit is {_limits.CODE_BYTES >> 20} MiB. Its largest "
                     f"files: {names}. Data and weights do not travel: {_FIX}")


def _cut(text: bytes, limit: int) -> str:
    """Returns lines without control characters, of at most `limit` bytes."""
    lines = text[:limit].decode("utf-8", "ignore")
    return "".join(one for one in lines if one == "\n" or one.isprintable()).strip("\n")


def pack_folder(folder: str, include: Sequence[str] = ()) -> Packed:
    """Packs a folder. In a git work tree, packs the files that git tracks or would track. Elsewhere, packs every file
    except version control, caches, virtual environments, and files that a .gitignore names. Adds the files that match
    the patterns. Raises UsageError if the folder cannot be packed."""
    if not os.path.isdir(folder):
        raise UsageError(f"code: '{folder}' is not a folder; name one, relative to the file")
    place = os.fsencode(folder)
    by_git = _git(place, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    try:
        sized = _sized(place, _include(place, include, _outside(place) if by_git is None else _in_full(place, by_git)))
        _check_sizes(sized)
        content = bytearray(_MAGIC)
        for kind, path, _ in sized:
            full = os.path.join(place, path)
            if kind == b"l":
                body = os.readlink(full)
            else:
                with open(full, "rb") as file:
                    body = file.read(_limits.CODE_BYTES + 1)
            content += _HEADER.pack(kind, len(path), len(body)) + path + body
    except OSError as error:
        raise UsageError(f"code: the folder '{folder}' cannot be read: {error}") from error
    if not sized:
        raise UsageError(f"code: the folder '{folder}' has no file to send"
                         f"{': git ignores what is in it' if by_git is not None else ''}; name another")
    left = _left_behind(place, [path for _, path, _ in sized])
    packed = bytes(content)
    digest = hashlib.sha256(packed).hexdigest()
    if by_git is not None:
        revision = _cut(_git(place, "rev-parse", "--verify", "HEAD") or b"", _limits.NAME_BYTES)
        changes = ((_git(place, "status", "--porcelain", "--", ".") or b"") +
                   (_git(place, "diff", "--no-ext-diff", "--stat", "HEAD", "--", ".") or b""))
        return Packed(packed, digest, len(sized), revision, _cut(changes, _limits.CODE_CHANGES_BYTES), left)
    note = ("git was not asked about the work tree that the code's folder is in, or refused to answer (git status "
            "there says why): what it tracks although a .gitignore names it did not travel"
            ) if _has_repository(place) else ""
    return Packed(packed, digest, len(sized), note="; ".join(filter(None, (left, note))))
