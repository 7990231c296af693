"""Runs a link command with static libraries in place of the system's shared ones.

usage: link_statically.py --libraries DIR [--linked FILE] [--keep-libstdcxx] [--also OBJECT]... -- COMMAND…

Static.cmake puts this in front of the link commands of programs, so that rooms need not know in which form a library is
linked. A library of the system, /usr/lib/…/libX.so, becomes DIR/libX.a or the libX.a beside it. Other shared libraries,
such as LibTorch's, stay. libc, libm and libgcc_s stay shared, since every host has its own:

- A static libgcc would need glibc 2.35 (_dl_find_object), a static libc could not resolve host names.
- A static libstdc++ would need glibc 2.36 (arc4random): cmake/floor/arc4random.c is linked instead.
- With --keep-libstdcxx libstdc++ stays shared too: exceptions and streams of dttrain cross into LibTorch.

--linked writes the archives from which something was linked, one a line: the bill of materials is made from it.
"""

import argparse
import pathlib
import re
import subprocess
import sys

SYSTEM = re.compile(r"(/(?:usr/)?lib/[\w.+-]+)/lib([\w+-]+)\.so[0-9.]*$")
# glibc's own, as -lm: it has them as archives too, but only their shared forms are used.
OF_LIBC = {"c", "dl", "m", "pthread", "rt"}


def static_form(path: str, folder: pathlib.Path) -> str:
    """Returns the archive to link for an argument of the command, or the argument itself."""
    found = SYSTEM.match(path)
    if not found or found[2] in OF_LIBC:
        return path
    beside = pathlib.Path(found[1])
    for archive in (folder / f"lib{found[2]}.a", beside / f"lib{found[2]}.a"):
        if archive.exists():
            return str(archive)
    raise SystemExit(f"error: no static form of {path}: neither {folder}/lib{found[2]}.a nor {beside}/lib{found[2]}.a; "
                     "tools/static_libraries.sh makes those that Debian lacks")


def static_command(command: list[str], options: argparse.Namespace) -> list[str]:
    after = command.index("-o") + 2
    replaced = [static_form(word, options.libraries) for word in command]
    flags = ["-Wl,--gc-sections", "-Wl,-z,now", "-Wl,--build-id=sha1"]
    if not options.keep_libstdcxx:
        flags.append("-static-libstdc++")
    # A group, since the order of a command with shared libraries need not be one for archives.
    return [*replaced[:after], *flags, *options.also, "-Wl,--start-group", *replaced[after:],
            "-Wl,--end-group"]


def linked_archives(trace: str) -> list[str]:
    """Returns the archives of the linker's trace, whose lines are "ARCHIVE(MEMBER)" or "(ARCHIVE)MEMBER"."""
    archives = set()
    for line in trace.splitlines():
        found = re.match(r"\(?(/\S+?\.a)(?:\(|\)|$)", line)
        if found:
            archives.add(str(pathlib.Path(found[1]).resolve()))
    return sorted(archives)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    parser.add_argument("--linked", type=pathlib.Path)
    parser.add_argument("--keep-libstdcxx", action="store_true")
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    command = static_command(options.command, options)
    if options.linked is None:
        return subprocess.run(command, check=False).returncode
    done = subprocess.run([*command, "-Wl,--trace"], stdout=subprocess.PIPE, check=False, text=True)
    options.linked.write_text("\n".join(linked_archives(done.stdout)) + "\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
