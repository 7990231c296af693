"""Prints corpus/unicode_ranges.inc: the ranges of code points that are letters (\\p{L}), numbers (\\p{N}) and white
space (\\s).

usage: python3 tools/unicode_ranges.py > corpus/unicode_ranges.inc
       python3 tools/unicode_ranges.py --check

Letters and numbers come from the package unicodedata2, version 16.0.0, or from Python's own unicodedata if that has the
same Unicode (in 3.14); White_Space is a property that both lack and that has not changed since Unicode 6.3, so it is
written here.

--check needs the package tiktoken too. It applies tiktoken's regular expressions to every code point, compares the
three classes, and prints the SHA-256 of the table, a byte for each code point, as in tests/corpus/unicode_test.cc.
"""

import hashlib
import sys

try:
    import unicodedata2 as unicodedata
except ImportError:
    import unicodedata

UNICODE = "16.0.0"  # of tiktoken 0.8 to 0.14
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


def classes_of_tiktoken() -> bytearray:
    """Returns 0 for other, 1 letter, 2 number, 3 space, as in CharClass."""
    import tiktoken

    table = bytearray(sys.maxunicode + 1)
    for value, pattern in enumerate([r"\p{L}", r"\p{N}", r"\s"], start=1):
        encoding = tiktoken.Encoding(name="classes", pat_str=pattern, special_tokens={},
                                     mergeable_ranks={bytes([byte]): byte for byte in range(256)})
        for point in range(sys.maxunicode + 1):
            # Surrogates are not characters of a text. A code point that the pattern does not match has no tokens.
            if not 0xD800 <= point < 0xE000 and encoding.encode_ordinary(chr(point)):
                table[point] = value
    return table


def check(tables: list[list[tuple[int, int]]]) -> None:
    ours = bytearray(sys.maxunicode + 1)
    for value, table in enumerate(tables, start=1):
        for low, high in table:
            ours[low:high + 1] = bytes([value]) * (high + 1 - low)
    theirs = classes_of_tiktoken()
    different = [f"U+{point:04X}" for point in range(len(ours)) if ours[point] != theirs[point]]
    if different:
        sys.exit(f"{len(different)} code points differ from tiktoken: {' '.join(different[:20])}")
    print(f"as in tiktoken; {hashlib.sha256(theirs).hexdigest()}")


def main() -> None:
    if unicodedata.unidata_version != UNICODE:
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}; install unicodedata2=={UNICODE}")
    tables = [ranges("L"), ranges("N"), SPACES]
    if sys.argv[1:] == ["--check"]:
        check(tables)
        return
    print(f"// unicode_ranges.inc: written by tools/unicode_ranges.py from Unicode {UNICODE}.")
    for name, table in zip(["kLetters", "kNumbers", "kSpaces"], tables):
        show(name, table)


if __name__ == "__main__":
    main()
