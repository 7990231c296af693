"""Makes files part of the program: usage: embed.py OUT.cc FILE…

Writes the definition of PageFiles() (page_files.h), each file as a string by its name.
"""

import pathlib
import sys

BYTES_A_LINE = 64


def literal(data: bytes) -> str:
    """The bytes as C++ strings, a line each; what is not plain is octal, of three digits."""
    lines = []
    for start in range(0, len(data), BYTES_A_LINE):
        piece = data[start:start + BYTES_A_LINE]
        lines.append('"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in piece) + '"')
    return "\n".join(lines) or '""'


def main() -> int:
    out, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
    parts = ['// Made by embed.py.\n#include "coordinator/http/page_files.h"\n\nnamespace dt {\nnamespace {\n']
    rows = []
    for number, path in enumerate(files):
        data = path.read_bytes()
        parts.append(f"constexpr char kFile{number}[] =\n{literal(data)};\n")
        rows.append(f'      {{"{path.name}", {{kFile{number}, {len(data)}}}}},\n')
    parts.append("}  // namespace\n\nconst std::vector<PageFile>& PageFiles() {\n"
                 "  static const auto* const files = new std::vector<PageFile>{\n" + "".join(rows) +
                 "  };\n  return *files;\n}\n\n}  // namespace dt\n")
    out.write_text("".join(parts), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
