"""Makes manual pages from the programs' --help, so that every option is described in one place.

usage: make_man.py --version VERSION --output DIR PROGRAM…

Writes DIR/NAME.1.gz for each program; a program's commands are sections of its page. The same help gives the same
bytes.
"""

import argparse
import gzip
import os
import pathlib
import re
import subprocess

# The column where explanations begin, in cli/commands/help.cc and in CLI11's own formatter.
COLUMN = 30
COMMANDS = ("Commands", "Subcommands")
LISTS = (*COMMANDS, "Arguments", "Positionals", "Options", "Options of every command")
SECONDS = 30


class Help:
    """A page of --help, in its parts."""

    def __init__(self, text: str):
        self.about: list[str] = []
        self.usage = ""
        self.sections: list[tuple[str, list[str]]] = []  # heading, lines
        self.rest: list[str] = []  # lines after a blank line behind the last list
        lines = text.rstrip().splitlines()
        into = self.about
        for before, line in zip(["", *lines], lines):
            if line.startswith("Usage: "):
                self.usage = line.removeprefix("Usage: ")
            elif line[:-1] in (*LISTS, "Examples") and line.endswith(":"):
                into = []
                self.sections.append((line[:-1], into))
            elif line and not line.startswith(" ") and before == "" and self.usage:
                into = self.rest
                into.append(line)
            else:
                into.append(line)

    def entries(self, *headings: str) -> list[tuple[str, str]]:
        """Yields name and explanation of each entry of a list."""
        found: list[list[str]] = []
        for heading, lines in self.sections:
            if heading not in headings:
                continue
            for line in lines:
                if not line.strip():
                    continue
                if line.startswith(" " * COLUMN):
                    found[-1][1] += " " + line.strip()
                elif len(line) > COLUMN and line[COLUMN - 1] == " ":
                    found.append([line[:COLUMN].strip(), line[COLUMN:].strip()])
                else:
                    found.append([line.strip(), ""])
        return [(name, about.strip()) for name, about in found]

    def lines(self, heading: str) -> list[str]:
        return next((lines for name, lines in self.sections if name == heading), [])


def help_of(program: pathlib.Path, words: list[str]) -> Help:
    # A default under the home folder must be the reader's, not the builder's.
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": "~", "LC_ALL": "C.UTF-8"}
    # The dttrain of a static build starts the trainer that fits this PyTorch.
    if "DTRAIN_LIBTORCH" in os.environ:
        environment["DTRAIN_LIBTORCH"] = os.environ["DTRAIN_LIBTORCH"]
    done = subprocess.run([program, *words, "--help"], env=environment, check=True, capture_output=True, text=True,
                          encoding="utf-8", timeout=SECONDS)
    return Help(done.stdout)


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e")
    for character, name in (("-", "\\-"), ("'", "\\(aq"), ("~", "\\(ti"), ("^", "\\(ha")):
        text = text.replace(character, name)
    return "\\&" + text if text.startswith(".") else text


def paragraph(lines: list[str]) -> list[str]:
    text = " ".join(line.strip() for line in lines if line.strip())
    return [".PP", escaped(text)] if text else []


def verbatim(lines: list[str]) -> list[str]:
    shown = [escaped(line.removeprefix("  ")) for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return [".PP", ".RS 4", ".nf", *shown, ".fi", ".RE"] if shown else []


def options(page: Help, *headings: str) -> list[str]:
    roff: list[str] = []
    for name, about in page.entries(*headings):
        roff += [".TP", f"\\fB{escaped(name)}\\fR", escaped(about) or "\\&"]
    return roff


def command_section(program: pathlib.Path, words: list[str], page: Help, root: Help) -> list[str]:
    roff = [".SS " + escaped(" ".join(words)), *paragraph(page.about), ".PP", f"\\fB{escaped(page.usage)}\\fR"]
    roff += options(page, "Arguments", "Positionals")
    own = [name for name, _ in page.entries("Options")]
    if own and own != ["-h,--help"]:
        roff += options(page, "Options")
    # CLI11 repeats the program's examples on the page of each command.
    if page.lines("Examples") != root.lines("Examples"):
        roff += verbatim(page.lines("Examples"))
    for name, _ in page.entries(*COMMANDS):
        roff += command_section(program, [*words, name], help_of(program, [*words, name]), root)
    return roff


def manual_page(program: pathlib.Path, version: str, others: list[str]) -> str:
    root = help_of(program, [])
    about = " ".join(line.strip() for line in root.about).strip()
    summary = re.split(r"\. |\.$", about.removeprefix(program.name + " "))[0]
    summary = summary.removeprefix("The ")
    roff = [f'.TH {program.name.upper()} 1 "" "dtrain {version}" "dtrain manual"', ".SH NAME",
            f"{program.name} \\- {escaped(summary)}", ".SH SYNOPSIS", f"\\fB{escaped(root.usage)}\\fR",
            ".SH DESCRIPTION", *paragraph([about])]
    if root.rest:
        roff += verbatim(root.rest)
    roff += [".SH OPTIONS", *options(root, "Options", "Options of every command")]
    commands = root.entries(*COMMANDS)
    if commands:
        roff.append(".SH COMMANDS")
        for name, _ in commands:
            roff += command_section(program, [name], help_of(program, [name]), root)
    if root.lines("Examples"):
        roff += [".SH EXAMPLES", *verbatim(root.lines("Examples"))]
    others = [f"\\fB{escaped(name)}\\fR(1)" for name in others if name != program.name]
    roff += [".SH SEE ALSO", ", ".join(others) + "; the manual in /usr/share/doc/dtrain\\-cli/manual"]
    return "\n".join(roff) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Manual pages from --help")
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("programs", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    others = ["dtcoord", "dtctl", "dtprogram", "dttrain", "dtworker"]
    for program in arguments.programs:
        text = manual_page(program.absolute(), arguments.version, others)
        # No time and no name in the header: the same page gives the same file.
        packed = gzip.compress(text.encode(), 9, mtime=0)
        (arguments.output / f"{program.name}.1.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
