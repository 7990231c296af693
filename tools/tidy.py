"""Checks the house rules that no compiler checks: lengths, banned words, stray paths, circles of units, English.

usage: tidy.py [FILE|FOLDER…]    without paths: every file that git tracks

Prints `file:line: error: …` per finding, and exits 1 when there is one. Circles are looked for in all sources,
whatever paths are given.
"""

import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # no file beside the sources
import circles  # noqa: E402
import english  # noqa: E402
import layers  # noqa: E402
import links  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS_MAX = 100
OTHER_COLUMNS_MAX = 120
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60

CODE = {".cc", ".h"}
TEXT = CODE | {
    ".cmake", ".proto", ".sh", ".py", ".md", ".txt", ".yaml", ".yml", ".json", ".service", ".js", ".css", ".html",
}
# Rooms whose folders stand on one another.
LAYERED = ("coordinator/core", "report")
# Written out in parts, so that this file does not report itself.
OPEN_ENDS = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:work|root|home/\w+)(?:/|\b)(?![\w-]*\.(?:h|cc)\b)")
REGISTRY_HOST = re.compile(r"\b(?:pypi|pythonhosted|deb\.debian|registry\.npmjs|pytorch)\.(?:org|com|io)\b")
SLEEP = re.compile(r"\b(?:sleep|usleep|nanosleep|sleep_for|sleep_until|SleepFor)\s*\(")
# A failing read, such as of the /proc file of a process that has just ended, is an exception there and not an error.
THROWING_READ = re.compile(
    r"istreambuf_iterator|for \([^;()]*:\s*(?:std::filesystem|fs)::(?:recursive_)?directory_iterator")
DEFAULT_LABEL = re.compile(r"^\s*default\s*:")
RAW_END = re.compile(r'\)\w{1,16}"')
HEADER = re.compile(r"^// [\w./-]+: ")
# A line of a table, which is data: it does not make a function longer to read.
TABLE_ROW = re.compile(r'(?:\w*\{"|\{\.|"|\.[A-Z]|t\.push_back\()')
ASSERTS_ON_LOGS = re.compile(r"\bCaptureStd(?:out|err)\b")


class Findings:
    def __init__(self) -> None:
        self.errors = 0

    def error(self, path: str, line: int, text: str) -> None:
        self.errors += 1
        print(f"{path}:{line}: error: {text}")


def tracked() -> list[str]:
    output = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], check=True, capture_output=True)
    return [name for name in output.stdout.decode().split("\0") if name]


def check_functions(path: str, lines: list[str], found: Findings) -> None:
    """Reports long bodies. Relies on the layout that clang-format gives: a body opens at the end of a line that a
    definition begins or continues, at the indent of a namespace's or a class's members, and closes with a lone } there.
    """
    start, indent, rows = 0, 0, 0
    members = [0]  # the indents at which definitions begin: 0 in a namespace, more in each class that is open
    begun = 0  # first line of the statement that this line continues
    for number, line in enumerate(lines, 1):
        depth = len(line) - len(line.lstrip())
        text = line.strip()
        if not text or text.startswith(("//", "#")):
            continue
        if start:
            rows += bool(TABLE_ROW.match(text))
            if depth == indent and text[0] == "}":
                length = number - start + 1 - rows
                if length > FUNCTION_LINES_MAX:
                    found.error(path, start, f"a function of {length} lines (limit {FUNCTION_LINES_MAX})")
                start = 0
            continue
        while len(members) > 1 and depth < members[-1] - 1:  # `public:` stands one column before the members
            members.pop()
        if depth == members[-1]:
            begun = number
        if not text.endswith("{"):
            continue
        whole = " ".join(part.strip() for part in lines[begun - 1:number]) if begun else text
        if re.match(r"(?:template ?<.*> ?)?(?:class|struct)\b(?!.*\()", whole):
            members.append(members[-1] + 2)
        elif ")" in whole and not whole.endswith("= {") and not whole.startswith(("namespace", "enum", "extern")):
            start, indent, rows = begun or number, members[-1], 0


def check_code(path: str, lines: list[str], found: Findings) -> None:
    # The header of a room tells its role; a source file without one, and not a test, tells its own.
    alone = path.endswith(".h") or not (ROOT / path).with_suffix(".h").exists()
    if alone and not path.endswith("_test.cc") and not (lines and HEADER.match(lines[0])):
        found.error(path, 1, "a file opens with its role: '// name: what it is for.'")
    if len(lines) > FILE_LINES_MAX:
        found.error(path, 1, f"{len(lines)} lines (limit {FILE_LINES_MAX}): split it by what it does")
    is_test = path.startswith("tests/")
    if not path.startswith(("tests/", "bench/")):
        for match in THROWING_READ.finditer("\n".join(lines)):
            found.error(path, match.string.count("\n", 0, match.start()) + 1,
                        "it throws if a read fails: use ReadFile, ReadKernelFile or ListFolder (common/files.h)")
    for number, line in enumerate(lines, 1):
        if DEFAULT_LABEL.match(line) and not is_test:
            # A switch over what is no enum of ours says so, on this line or the next.
            if "//" not in line + "".join(lines[number:number + 1]):
                found.error(path, number, "'default:' hides new enumerators; name them all, or say whose values")
        if is_test and SLEEP.search(line):
            found.error(path, number, "a test does not sleep: wait for the event, with a deadline")
        if is_test and ASSERTS_ON_LOGS.search(line):
            found.error(path, number, "a test does not assert on log text")
    check_functions(path, lines, found)


def check_file(path: str, found: Findings) -> None:
    name = pathlib.Path(path)
    if name.suffix not in TEXT and name.name not in {"dev", "run", "CMakeLists.txt"}:
        return
    try:
        text = (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        found.error(path, 1, "not UTF-8")
        return
    lines = text.splitlines()
    if text and not text.endswith("\n"):
        found.error(path, len(lines), "no newline at the end of the file")
    raw = False  # inside a raw string of C++, which is data
    data = name.suffix in {".json", ".md", ".svg", ".yml"} or path.startswith(("tests/golden/", "tests/data/"))
    for number, line in enumerate(lines, 1):
        if len(line) > (COLUMNS_MAX if name.suffix in CODE else OTHER_COLUMNS_MAX) and not data:
            # clang-format leaves a long literal alone, and so does this.
            literal = name.suffix in CODE and (raw or '"' in line)
            if "://" not in line and "sha256:" not in line and not literal:
                found.error(path, number, f"{len(line)} columns")
        raw = (raw or 'R"' in line) and ')"' not in line and not RAW_END.search(line)
        if OPEN_ENDS.search(line):
            found.error(path, number, "an open end in the source: do it, or file an issue")
        if MACHINE_PATH.search(line):
            found.error(path, number, "a path of one machine")
        if REGISTRY_HOST.search(line):
            found.error(path, number, "a package registry's host: leave it to the client's configuration")
        if line != line.rstrip() and name.suffix != ".md":
            found.error(path, number, "trailing blanks")
    if name.suffix in CODE:
        check_code(path, lines, found)


def is_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def check_english(path: str, found: Findings) -> None:
    # The history of releases is not rewritten.
    if path == "CHANGELOG.md" or pathlib.PurePath(path).suffix not in english.SUFFIXES:
        return
    for line, text in english.findings(path, (ROOT / path).read_text(encoding="utf-8")):
        found.error(path, line, text)


def check_links(path: str, found: Findings) -> None:
    for line, text in links.findings(ROOT, path) if path.endswith(".md") else []:
        found.error(path, line, text)


def check_circles(paths: list[str], found: Findings) -> None:
    sources = {path: (ROOT / path).read_text(encoding="utf-8")
               for path in paths if path.endswith(circles.SUFFIXES) and (ROOT / path).is_file()}
    for circle in circles.circles(sources):
        first = circle.closed_by[0]
        found.error(first.file, first.line, f"a circle of {len(circle.units)} units: {', '.join(circle.units)}; "
                    f"{'; '.join(str(include) for include in circle.closed_by)}")


def main() -> int:
    found = Findings()
    chosen = tuple(path.rstrip("/") for path in sys.argv[1:])
    files = tracked()
    for path in files + [path for path in chosen if path not in files]:  # a new file is checked by its name
        if (chosen and not is_in(path, chosen)) or not (ROOT / path).is_file():
            continue
        check_file(path, found)
        check_links(path, found)
        check_english(path, found)
    check_circles(files, found)
    for top in LAYERED:
        for path, line, text in layers.findings(ROOT, top):
            found.error(path, line, text)
    print(f"tidy: {found.errors} errors")
    return 1 if found.errors else 0


if __name__ == "__main__":
    sys.exit(main())
