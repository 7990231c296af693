"""The public names of the package, with their types, defaults and descriptions, as public_api.golden has them.

DTRAIN_BLESS=1 writes the golden file, and compares nothing.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import os
import pathlib
import sys
import unittest

import dtrain

GOLDEN = pathlib.Path(__file__).with_name("public_api.golden")


def field_docs(kind: type) -> dict[str, str]:
    """Returns the description of each field of a class, by the field's name. Only the source has them."""
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, after in zip(tree.body, tree.body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[field.target.id] = " ".join(after.value.value.split())
    return found


def indented(text: str | None) -> list[str]:
    return [f"    {line}".rstrip() for line in inspect.cleandoc(text or "").splitlines()]


def class_lines(name: str, kind: type) -> list[str]:
    """Returns the description of a class, then its fields, properties and methods, one a line."""
    lines = [f"class {name}", *indented(kind.__doc__)]
    if dataclasses.is_dataclass(kind):
        docs = field_docs(kind)
        for field in dataclasses.fields(kind):
            default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
            doc = f"  # {docs[field.name]}" if field.name in docs else ""
            lines.append(f"  {field.name}: {field.type}{default}{doc}")
    for method, function in inspect.getmembers(kind):
        of_this_package = (getattr(getattr(function, "fget", function), "__module__", None) or "").startswith("dtrain")
        if method.startswith("_") or not of_this_package:
            continue
        if isinstance(function, property):
            lines.append(f"  {method} -> {function.fget.__annotations__['return']}")
        elif inspect.isfunction(function):
            lines.append(f"  {method}{inspect.signature(function)}")
    return lines


def public_api() -> str:
    lines = []
    for name in dtrain.__all__:
        one = getattr(dtrain, name)
        if inspect.isclass(one):
            lines += class_lines(name, one)
        elif inspect.isfunction(one):
            lines.append(f"{name}{inspect.signature(one)}")
        elif name != "__version__":
            lines.append(f"{name} = {one}")
    return "\n".join(lines) + "\n"


class PublicApiTest(unittest.TestCase):
    @unittest.skipIf(sys.version_info[:2] != (3, 11), "the golden file has the texts of Python 3.11")
    def test_names_types_defaults_and_descriptions_are_those_of_the_golden_file(self) -> None:
        found = public_api()
        if os.environ.get("DTRAIN_BLESS"):
            GOLDEN.write_text(found, encoding="utf-8")
            return
        wanted = GOLDEN.read_text(encoding="utf-8")
        difference = difflib.unified_diff(wanted.splitlines(), found.splitlines(), GOLDEN.name, "the package",
                                          lineterm="")
        self.assertEqual(wanted, found, "\n" + "\n".join(difference) + "\nif this is meant: DTRAIN_BLESS=1 writes it")


if __name__ == "__main__":
    sys.exit(unittest.main())
