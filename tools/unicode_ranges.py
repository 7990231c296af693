"""Prints corpus/unicode_ranges.inc: which code points are letters (\\p{L}), numbers (\\p{N}) and white space.

usage: python3 tools/unicode_ranges.py > corpus/unicode_ranges.inc

Letters and numbers come from Python's unicodedata; White_Space is a property that it lacks and that has not
changed since Unicode 6.3, so it is written here.
"""

import sys
import unicodedata

SPACES = [(0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
          (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]


def ranges(category: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for point in range(sys.maxunicode + 1):
        if not unicodedata.category(chr(point)).startswith(category):
            continue
        if found and found[-1][1] == point - 1:
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return found


def show(name: str, values: list[tuple[int, int]]) -> None:
    print(f"constexpr Range {name}[] = {{")
    line = "   "
    for low, high in values:
        item = f" {{0x{low:X}, 0x{high:X}}},"
        if len(line) + len(item) > 100:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};")


def main() -> None:
    print(f"// unicode_ranges.inc: written by tools/unicode_ranges.py from Unicode {unicodedata.unidata_version}.")
    show("kLetters", ranges("L"))
    show("kNumbers", ranges("N"))
    show("kSpaces", SPACES)


if __name__ == "__main__":
    main()
