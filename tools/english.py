"""Plain English, as far as a script can check it: how a comment begins, and phrases that readers have to decode.

`findings(path, text)` returns what is wrong with one file. It reads comments and docstrings, the strings that users
see (a string of one word is a key, and a test's strings are data), and the text of a page without its code.
"""

import ast
import dataclasses
import io
import pathlib
import re
import tokenize

SUFFIXES = {".cc", ".h", ".proto", ".js", ".py", ".sh", ".yaml", ".md"}
# Written out in parts, so that this file does not report itself.
PHRASES = [
    (re.compile(r"(?<![\w.:>/-])who" + r"les?(?![\w(-]|\.\w)", re.I),
     "'who" + "le': write undamaged, all, complete or full"),
    (re.compile(r"\bhas leave " + r"to\b", re.I), "'has leave " + "to': write may, or is allowed to"),
    (re.compile(r"(?<!there )(?<!There )\bis no" + r"ne\b"), "'is no" + "ne': write is no …, is empty, is not set"),
    (re.compile(r"(?:^|(?<![\w ]) ?)\bbe " + r"it\b", re.I), "'be " + "it': write whether … or …"),
]
COMMENT_PHRASES = [
    (re.compile(r"\bsa" + r"id\b(?!\.\w)", re.I), "'sa" + "id': write printed, written, reported, named"),
    (re.compile(r"\bto" + r"ld\b(?!\.\w)", re.I), "'to" + "ld': write sent, reported, notified, known from"),
]
FIRST_WORDS = re.compile(r"(That|Who|Whose|Whom|What|Those|One|It|Of)(?![\w-])")
# A comment behind code or behind a file's name goes on with its line, in small letters.
FIRST_WORDS_BEHIND = re.compile(r"(that|who|whose|whom|what|those)(?![\w-])")
FIELD = re.compile(r"\{[^{}\n]*\}")  # of an f-string
ROLE = re.compile(r"[\w./-]+: ")
CODE_IN_TEXT = re.compile(r"`[^`]*`|\"[\w.-]*\"")

C_TOKEN = re.compile(
    r"""(?P<number>\b\d(?:'?\w)*)|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)"""
    r"""|(?P<raw>R"(?P<mark>\w*)\(.*?\)(?P=mark)")|(?P<string>"(?:\\.|[^"\\\n])*")|'(?:\\.|[^'\\\n])+'""", re.S)
JS_TOKEN = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"""
    r"""|[(,=:\[!&|?{};+]\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/""", re.S)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)")


@dataclasses.dataclass
class Block:
    """Lines that belong together: a comment, a string with its continuations, a paragraph."""
    lines: list[tuple[int, str]]  # with the number of each in its file
    is_comment: bool
    column: int = -1  # of a comment that further lines may continue
    trailing: bool = False


class Blocks:
    def __init__(self) -> None:
        self.all: list[Block] = []

    def comment(self, line: int, column: int, text: str, trailing: bool) -> None:
        last = self.all[-1] if self.all else None
        if last and last.is_comment and not trailing and last.column == column and last.lines[-1][0] == line - 1:
            last.lines.append((line, text))
        else:
            self.all.append(Block([(line, text)], True, column, trailing))

    def lines(self, first: int, text: str, is_comment: bool) -> None:
        self.all.append(Block(list(enumerate(text.split("\n"), first)), is_comment))


def c_blocks(text: str, token: re.Pattern[str], with_strings: bool) -> list[Block]:
    blocks = Blocks()
    string_end = -1  # of the string before, which one beside it continues
    for match in token.finditer(text):
        kind, value = match.lastgroup, match[0]
        line = text.count("\n", 0, match.start()) + 1
        begin = text.rfind("\n", 0, match.start()) + 1
        if kind == "line":
            blocks.comment(line, match.start() - begin, value.lstrip("/!<"),
                           bool(text[begin:match.start()].strip()))
        elif kind == "block":
            blocks.lines(line, re.sub(r"(?m)^\s*\*", "", value[2:-2]), True)
        elif kind in ("string", "raw", "mark") and with_strings:
            if string_end >= 0 and not text[string_end:match.start()].strip():
                blocks.all[-1].lines += list(enumerate(value.strip('"').split("\n"), line))
            else:
                blocks.lines(line, value.strip('"'), False)
            string_end = match.end()
    return blocks.all


def python_blocks(text: str, with_strings: bool) -> list[Block]:
    blocks = Blocks()
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node, clean=False) is not None:
                docstrings.add(node.body[0].lineno)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            blocks.comment(line, column, token.string.lstrip("#"), bool(token.line[:column].strip()))
        elif token.type == tokenize.STRING and (line in docstrings or with_strings):
            value = token.string.lstrip("rbfuRBFU").strip("\"'")
            if "f" in token.string[:2].lower():
                value = FIELD.sub(lambda match: "~" * len(match[0]), value)
            blocks.lines(line, value, line in docstrings)
    return blocks.all


def hash_blocks(text: str, with_strings: bool) -> list[Block]:
    blocks = Blocks()
    for number, line in enumerate(text.split("\n"), 1):
        match = HASH_COMMENT.search(line)
        code = line[:match.start()] if match else line
        if code.strip() and with_strings:
            blocks.lines(number, code, False)
        if match:
            blocks.comment(number, match.start(), line[match.end():], bool(code.strip()))
    return blocks.all


def page_blocks(text: str) -> list[Block]:
    """Returns the paragraphs of a page of Markdown, without its code."""
    blocks: list[Block] = []
    is_code = False
    begins = True
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        is_code ^= fence
        if is_code or fence or not line.strip():
            begins = True
        elif begins:
            blocks.append(Block([(number, line)], False))
            begins = False
        else:
            blocks[-1].lines.append((number, line))
    return blocks


def blocks_of(path: str, text: str) -> list[Block]:
    suffix = pathlib.PurePath(path).suffix
    seen_by_users = not path.startswith("tests/")
    if suffix in {".cc", ".h", ".proto"}:
        return c_blocks(text, C_TOKEN, seen_by_users)
    if suffix == ".js":
        return c_blocks(text, JS_TOKEN, seen_by_users)
    if suffix == ".py":
        return python_blocks(text, seen_by_users)
    if suffix in {".sh", ".yaml"}:
        return hash_blocks(text, seen_by_users)
    return page_blocks(text)


def read(block: Block) -> tuple[str, list[tuple[int, int]]]:
    """Returns the block in one line, its code left out, and where in it each line of the file begins."""
    text = ""
    starts = []
    for number, line in block.lines:
        starts.append((len(text), number))
        text += line.strip() + " "
    # As many characters as before, so that places stay.
    return CODE_IN_TEXT.sub(lambda match: "~" * len(match[0]), text), starts


def findings(path: str, text: str) -> list[tuple[int, str]]:
    """Returns what is not plain in a file, with the number of the line."""
    found = []
    for block in blocks_of(path, text):
        line, starts = read(block)
        if not block.is_comment and " " not in line.strip():
            continue
        for phrase, why in PHRASES + (COMMENT_PHRASES if block.is_comment else []):
            for match in phrase.finditer(line):
                found.append((max(n for at, n in starts if at <= match.start()), why))
        if block.is_comment:
            start = line.lstrip()
            goes_on = block.trailing
            if block.lines[0][0] == 1 and ROLE.match(start):  # a file opens with its name and role
                start = ROLE.sub("", start, count=1)
                goes_on = True
            word = FIRST_WORDS.match(start) or (goes_on and FIRST_WORDS_BEHIND.match(start))
            if word:
                found.append((block.lines[0][0], f"a comment that begins with '{word[1]}': name the thing first, or "
                              "begin with what the function does (Returns, Drops)"))
    return sorted(found)
