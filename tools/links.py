"""Relative links of Markdown pages: each names a file or folder of the tree, and a heading where it names one.

`findings(root, path)` returns what is wrong with one page.
"""

import os
import pathlib
import re

LINK = re.compile(r"\]\(<?([^)\s>#]*)(?:#([^)\s>]+))?>?\)")
CODE = re.compile(r"(?ms)^ *```.*?^ *```|`[^`\n]*`")
HEADING = re.compile(r"(?m)^#+ +(.+?) *$")


def slugs(text: str) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in HEADING.findall(re.sub(r"(?ms)^ *```.*?^ *```", "", text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        count = 0
        while (name := f"{slug}-{count}" if count else slug) in found:
            count += 1
        found.add(name)
    return found


def findings(root: pathlib.Path, path: str) -> list[tuple[int, str]]:
    wrong = []
    text = (root / path).read_text(encoding="utf-8")
    # Blanks in place of code keep the numbers of lines.
    plain = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for link in LINK.finditer(plain):
        target, anchor = link.groups()
        if ":" in target:
            continue
        line = plain.count("\n", 0, link.start()) + 1
        file = pathlib.Path(os.path.normpath((root / path).parent / target)) if target else root / path
        if not file.exists():
            wrong.append((line, f"a link to {target}, which is not there"))
        elif anchor and file.suffix == ".md" and anchor not in slugs(file.read_text(encoding="utf-8")):
            wrong.append((line, f"a link to #{anchor}, which is no heading of {file.relative_to(root)}"))
    return wrong
