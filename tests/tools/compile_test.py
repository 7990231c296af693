"""Tests the options that tools/compile.sh gives the cache, with stand-ins for compiler and cache that note their
arguments."""
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "compile.sh"

COMPILER = """#!/bin/sh
echo "$*" >> {home}/calls
case "$*" in
  *--version*) echo "compiler 1" ;;
  *"-E -P"*) if [ -e {home}/out.gch ]; then echo "#pragma taken as it is"; else cat {home}/held; fi ;;
  *-fsyntax-only*)
    refusals=$(cat {home}/refusals)
    echo $((refusals - 1)) > {home}/refusals
    [ "$refusals" -le 0 ] ;;
  *) echo built > {home}/out.gch ;;
esac
"""
CACHE = """#!/bin/sh
echo "cache $*" >> {home}/calls
"""


class CompileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        for name, text in (("compiler", COMPILER), ("cache", CACHE)):
            program = self.home / name
            program.write_text(text.format(home=self.home))
            program.chmod(0o755)

    def run_script(self, *arguments, refusals=0):
        (self.home / "refusals").write_text(str(refusals))
        (self.home / "held").touch()
        (self.home / "calls").write_text("")
        done = subprocess.run([SCRIPT, self.home / "cache", self.home / "compiler", *arguments],
                              capture_output=True, text=True, timeout=60)
        return done, (self.home / "calls").read_text().splitlines()

    def header(self, *flags, refusals=0):
        return self.run_script(*flags, "-x", "c++-header", "-o", str(self.home / "out.gch"), "-c",
                               str(self.home / "in.cxx"), refusals=refusals)

    def test_a_unit_goes_through_the_cache(self):
        done, calls = self.run_script("-O1", "-c", "unit.cc", "-o", "unit.o")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(calls, [f"cache {self.home}/compiler -O1 -c unit.cc -o unit.o"])

    def test_a_precompiled_header_never_comes_from_the_cache(self):
        done, calls = self.header()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse([call for call in calls if call.startswith("cache")], calls)
        self.assertTrue((self.home / "out.gch").exists())

    def test_a_header_that_the_compiler_refuses_is_built_again(self):
        done, calls = self.header(refusals=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len([call for call in calls if call.endswith("in.cxx") and "-o" in call]), 2, calls)
        done, _ = self.header(refusals=9)
        self.assertEqual(done.returncode, 1)
        self.assertIn("try 3 of 3", done.stderr)

    def sum_with(self, flag, held, checkout="/checkout"):
        (self.home / "held").write_text(held)
        with unittest.mock.patch.dict(os.environ, CCACHE_BASEDIR=checkout):
            self.header(flag, f"-I{checkout}", f"-I{checkout}/build")
        return (self.home / "out.gch.sum").read_text()

    def test_the_checksum_follows_the_flags_and_the_headers_contents(self):
        first = self.sum_with("-O1", "int held;")
        self.assertEqual(self.sum_with("-O1", "int held;"), first)
        self.assertNotEqual(self.sum_with("-O2", "int held;"), first)
        self.assertNotEqual(self.sum_with("-O1", "long held;"), first)

    def test_the_checksum_is_the_same_in_another_checkout(self):
        # Macros expand to the name of the file that uses them.
        self.assertEqual(self.sum_with("-O1", 'auto file = "/another/held.h";', "/another"),
                         self.sum_with("-O1", 'auto file = "/checkout/held.h";'))


if __name__ == "__main__":
    unittest.main()
