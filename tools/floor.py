"""Checks that programs start on every system from Debian 12, Ubuntu 22.04 and RHEL 9 on: by the versions of the symbols
that they take from libc, libstdc++ and libgcc_s, and by the libraries that they need.

usage: floor.py PROGRAM…     prints each symbol that is too new, and exits 1

The bounds are those of the tag manylinux_2_34 of wheels (PEP 600).
"""

import pathlib
import re
import subprocess
import sys

FLOOR = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (11, 0, 0)}
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def too_new(dynamic_symbols: str) -> list[tuple[str, str]]:
    """Returns (symbol, version) of each line of `objdump -T` whose version is above the floor."""
    found = []
    for line in dynamic_symbols.splitlines():
        matched = re.search(r"\*UND\*.*\(?\b([A-Z]+)_([0-9.]+)\)?\s+(\S+)$", line)
        if matched and matched[1] in FLOOR and numbers(matched[2]) > FLOOR[matched[1]]:
            found.append((matched[3], f"{matched[1]}_{matched[2]}"))
    return found


def needed(dynamic_section: str) -> set[str]:
    return set(re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", dynamic_section))


def faults(program: str, more_libraries: frozenset[str] = frozenset()) -> list[str]:
    """Returns a sentence for each reason why the program would not start on the oldest system."""
    symbols = subprocess.run(["objdump", "-T", program], capture_output=True, check=True, text=True).stdout
    section = subprocess.run(["readelf", "-d", program], capture_output=True, check=True, text=True).stdout
    sentences = [f"{program} takes {symbol} of {version}; the floor is "
                 f"{version.split('_')[0]}_{'.'.join(map(str, FLOOR[version.split('_')[0]]))}. To see which object "
                 f"takes it, link again with -Wl,-y,{symbol}" for symbol, version in too_new(symbols)]
    foreign = needed(section) - SYSTEM_LIBRARIES - more_libraries
    sentences += [f"{program} needs {library}, which not every system has" for library in sorted(foreign)]
    return sentences


def main() -> int:
    # The trainer has LibTorch beside it, and takes the system's libstdc++, as LibTorch does.
    of_torch = frozenset({"libstdc++.so.6", "libtorch_cpu.so", "libc10.so", "libtorch_cuda.so", "libc10_cuda.so",
                          "libnccl.so.2", "libcudart.so.13"})
    sentences = []
    for program in sys.argv[1:]:
        # Not dttrain itself, which only starts one of these.
        trains = pathlib.Path(program).name.startswith("dttrain-")
        sentences += faults(program, of_torch if trains else frozenset())
    for sentence in sentences:
        print(f"error: {sentence}")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
