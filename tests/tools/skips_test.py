"""Tests of tools/skips.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import skips  # noqa: E402

LOG = """Start testing: Nov 26 05:00 UTC
----------------------------------------------------------
1/4 Testing: e2e_program_test
1/4 Test: e2e_program_test
Output:
----------------------------------------------------------
[ RUN      ] ProgramTest.Passes
[       OK ] ProgramTest.Passes (3 ms)
[ RUN      ] ProgramTest.Ddp
/src/tests/e2e/program_test.cc:305: Skipped
no python3 imports torch; ./dev setup --programs makes one

[  SKIPPED ] ProgramTest.Ddp (41 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] ProgramTest.Ddp
Test Passed.
2/4 Testing: python_wheel_test
test_types (wheel_test.WheelTest.test_types) ... skipped 'no mypy'
What it holds ... skipped "it's not here"
test_zip (wheel_test.WheelTest.test_zip) ... ok
OK (skipped=1)
3/4 Testing: python_client_test
skipped: there is no python with grpcio
4/4 Testing: sim_test
[ RUN      ] SimTest.Holds
[       OK ] SimTest.Holds (9 ms)
"""


class SkipsTest(unittest.TestCase):
    def test_cases_within_an_entry_that_passed_are_found_with_their_reasons(self):
        self.assertEqual(skips.skips(LOG), [
            ("e2e_program_test", "ProgramTest.Ddp", "no python3 imports torch; ./dev setup --programs makes one"),
            ("python_wheel_test", "wheel_test.WheelTest.test_types", "no mypy"),
            ("python_wheel_test", "What it holds", "it's not here"),
            ("python_client_test", "", "there is no python with grpcio")])

    def test_nothing_is_printed_if_nothing_was_skipped(self):
        self.assertEqual(skips.skips("1/1 Testing: a\n[       OK ] A.B (1 ms)\n"), [])


if __name__ == "__main__":
    unittest.main()
