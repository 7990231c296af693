"""Tests of tools/tidy.py's checks of circles, of layers, of English and of links."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import circles  # noqa: E402
import english  # noqa: E402
import layers  # noqa: E402
import links  # noqa: E402


def why(path: str, text: str) -> list[str]:
    return [reason for _, reason in english.findings(path, text)]


class CirclesTest(unittest.TestCase):
    def test_units_that_include_one_way_only_are_no_circle(self):
        self.assertEqual(circles.circles({
            "room/a.h": '#include "room/b.h"\n',
            "room/a.cc": '#include "room/a.h"\n#include "room/c.h"\n',
            "room/b.h": '#include <string>\n#include "room/c.h"\n',
            "room/c.h": "",
        }), [])

    def test_a_source_and_its_header_are_one_unit(self):
        found = circles.circles({
            "room/a.h": "",
            "room/a.cc": '#include "room/a.h"\n\n#include "room/b.h"\n',
            "room/b.h": '#include "room/a.h"\n',
        })
        self.assertEqual([circle.units for circle in found], [("room/a", "room/b")])
        self.assertEqual([str(include) for include in found[0].closed_by],
                         ["room/a.cc:3 includes room/b.h", "room/b.h:1 includes room/a.h"])

    def test_a_long_circle_names_all_units_and_a_shortest_way_around(self):
        found = circles.circles({
            "room/a.h": '#include "room/b.h"\n',
            "room/b.h": '#include "room/c.h"\n',
            "room/c.h": '#include "room/a.h"\n#include "room/d.h"\n',
            "room/d.h": '#include "room/c.h"\n',
            "room/e.h": '#include "room/a.h"\n',
        })
        self.assertEqual([circle.units for circle in found], [("room/a", "room/b", "room/c", "room/d")])
        self.assertEqual([include.unit for include in found[0].closed_by], ["room/d", "room/c"])


class LayersTest(unittest.TestCase):
    def test_a_folder_includes_only_what_it_links_directly_or_through_others(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for folder, links_to in (("low", "other"), ("middle", "dt_low"), ("high", "dt_middle")):
            (root / "room" / folder).mkdir(parents=True)
            (root / "room" / folder / "CMakeLists.txt").write_text(
                f"dt_room(dt_{folder}\n  SOURCES a.cc\n  LINKS {links_to})\n")
        (root / "room/high/a.cc").write_text('#include "room/high/a.h"\n#include "room/low/a.h"\n')
        self.assertEqual(layers.findings(root, "room"), [])
        (root / "room/low/a.cc").write_text('#include "common/a.h"\n#include "room/high/a.h"\n')
        self.assertEqual(layers.findings(root, "room"), [("room/low/a.cc", 2, "room/low does not link room/high")])


class LinksTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "docs").mkdir()
        (self.root / "docs/b.md").write_text(
            "# Whose `--variables`\n\n```sh\n# no heading\n```\n\n## Twice\n\n## Twice\n")

    def wrong(self, text: str) -> list[tuple[int, str]]:
        (self.root / "docs/a.md").write_text(text)
        return links.findings(self.root, "docs/a.md")

    def test_files_folders_headings_and_other_sites_are_fine(self):
        self.assertEqual(self.wrong("# A\n[b](b.md), [up](../docs/), [here](#a), [top](b.md#whose---variables)\n"
                                    "[second](b.md#twice-1), [site](https://example.org/no.md)\n"), [])

    def test_a_missing_file_or_heading_is_named_with_its_line(self):
        self.assertEqual(self.wrong("# A\n\n[c](c.md)\n[b](b.md#no-heading)\n"),
                         [(3, "a link to c.md, which is not there"),
                          (4, "a link to #no-heading, which is no heading of docs/b.md")])

    def test_code_is_no_link(self):
        self.assertEqual(self.wrong("`[c](c.md)`\n\n```md\n[c](c.md)\n```\n"), [])


class EnglishTest(unittest.TestCase):
    def test_a_comment_begins_with_the_thing_or_with_a_verb(self):
        for word in ("That", "Who", "Whose", "Whom", "What", "Those", "One", "It", "Of"):
            self.assertEqual(len(why("room/a.h", f"\n// {word} a queue holds.\nint a;\n")), 1, word)
        for start in ("Returns", "Drops", "Upper bound of", "Whatever", "One-based index of", "`What`"):
            self.assertEqual(why("room/a.h", f"\n// {start} a queue holds.\nint a;\n"), [], start)

    def test_only_the_first_line_of_a_block_begins_it(self):
        self.assertEqual(why("room/a.h", "\n// Returns what a queue holds.\n// It is never empty.\nint a;\n"), [])
        self.assertEqual(len(why("room/a.h", "\n// Returns a queue.\nint a;\n// It is never empty.\nint b;\n")), 1)
        self.assertEqual(english.findings("room/a.h", "\nint a;  // rows\n        // What they are.\nint b;\n"), [])

    def test_a_role_or_a_comment_behind_code_goes_on_with_its_line(self):
        self.assertEqual(len(why("room/a.h", "// a.h: what a queue holds.\n")), 1)
        self.assertEqual(why("room/a.h", "// a.h: one queue.\n"), [])
        self.assertEqual(len(why("room/a.h", "\nint a;  // what it holds\n")), 1)
        self.assertEqual(why("room/a.h", "\nint a;  // of the queue\n"), [])

    def test_other_languages_have_comments_too(self):
        self.assertEqual(len(why("room/a.proto", "\n// What a queue holds.\nmessage A {}\n")), 1)
        self.assertEqual(len(why("room/a.js", "\n/** What a queue holds. */\nlet a = /[\"'/]/;\n")), 1)
        self.assertEqual(len(why("room/a.py", '"""What a queue holds."""\n')), 1)
        self.assertEqual(len(why("room/a.py", 'def f():\n    """What it holds."""\n\n\n# Who calls it.\na = 1\n')), 2)
        self.assertEqual(len(why("room/a.sh", "#!/bin/sh\n# What it does.\necho '#'\n")), 1)
        self.assertEqual(len(why("room/a.yaml", "a: 1  # what a is\n")), 1)
        self.assertEqual(why("room/a.py", '"""Returns what a queue holds."""\na = "What do you mean?"\n'), [])

    def test_phrases_are_refused_in_comments_and_in_what_users_read(self):
        whole, leave, none = "who" + "le", "has leave " + "to", "is no" + "ne"
        for line in (f"The {whole} file.", f"A worker {leave} go.", f"A port that {none}.", "A name, be " + "it one."):
            self.assertEqual(len(why("room/a.cc", f"\n// {line}\nint a;\n")), 1, line)
            self.assertEqual(len(why("room/a.cc", f'\nPrint("{line}");\n')), 1, line)
            self.assertEqual(len(why("docs/a.md", f"# Page\n\n{line}\n")), 1, line)
            self.assertEqual(len(why("room/a.py", f'print("{line}")\n')), 1, line)
        self.assertEqual(why("room/a.cc", "\n// The port; 0 where there is none.\nint a;\n"), [])

    def test_a_phrase_is_found_over_a_line_break_and_a_cut_literal(self):
        self.assertEqual(english.findings("room/a.h", "\n// A worker has leave\n// to go.\nint a;\n")[0][0], 2)
        self.assertEqual(len(why("room/a.cc", '\nPrint("a worker has leave "\n      "to go");\n')), 1)

    def test_some_words_are_refused_in_comments_alone(self):
        for word in ("sa" + "id", "to" + "ld"):
            self.assertEqual(len(why("room/a.h", f"\n// The agent was {word} so.\nint a;\n")), 1)
            self.assertEqual(why("docs/a.md", f"The agent was {word} so.\n"), [])

    def test_code_keys_and_data_of_tests_are_left_alone(self):
        whole = "who" + "le"
        self.assertEqual(why("room/a.h", f"\n// Returns `{whole}`, as \"{whole}\" or {whole}().\nint {whole};\n"), [])
        self.assertEqual(why("room/a.h", "\n// Reads " + "to" + "ld.json.\nint a;\n"), [])
        self.assertEqual(why("room/a.cc", f'\nconst char* key = "{whole}";\n'), [])
        self.assertEqual(why("tests/a_test.cc", f'\nExpect("the {whole} file");\n'), [])
        self.assertEqual(len(why("tests/a_test.cc", f"\n// The {whole} file.\nint a;\n")), 1)
        self.assertEqual(why("docs/a.md", f"Text.\n\n```sh\nthe {whole} file\n```\n"), [])


class TidyTest(unittest.TestCase):
    def test_a_tree_is_refused_for_a_circle_and_for_its_english(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            shutil.copytree(TOOLS, root / "tools", ignore=lambda _, names: [
                name for name in names if name not in (
                    "tidy.py", "circles.py", "english.py", "layers.py", "links.py")])
            (root / "room").mkdir()
            (root / "room/a.h").write_text('// a.h: a queue.\n#include "room/b.h"\n')
            (root / "room/b.h").write_text("// b.h: a queue.\n")
            subprocess.run(["git", "init", "-q", root], check=True)

            def tidy(*options: str) -> subprocess.CompletedProcess[str]:
                subprocess.run(["git", "-C", root, "add", "room"], check=True)
                command = [sys.executable, root / "tools/tidy.py", *options]
                return subprocess.run(command, capture_output=True, text=True)

            self.assertEqual(tidy().returncode, 0)
            (root / "room/b.h").write_text('// b.h: what waits.\n#include "room/a.h"\n')
            result = tidy()
            self.assertEqual(result.returncode, 1)
            self.assertIn("a circle of 2 units: room/a, room/b; room/a.h:2 includes room/b.h; "
                          "room/b.h:2 includes room/a.h", result.stdout)
            self.assertIn("room/b.h:1: error: a comment that begins with 'what'", result.stdout)
            (root / "room/b.h").write_text(
                "// b.h: a queue.\nfor (const auto& entry :\n     fs::directory_iterator(folder, code)) {\n")
            self.assertIn("room/b.h:2: error: it throws if a read fails", tidy().stdout)


if __name__ == "__main__":
    unittest.main()
