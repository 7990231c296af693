"""Tests of tools/check_ptx.py: it reads the output of ptxas -v, and does not take no output for success."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_ptx  # noqa: E402

KERNEL = """ptxas info    : Compiling entry function 'rows' for 'sm_80'
    0 bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used {registers} registers, used 1 barriers
"""


class CheckPtxTest(unittest.TestCase):
    def test_a_kernel_within_the_bound_is_well(self):
        self.assertEqual(check_ptx.faults(KERNEL.format(stores=0, loads=0, registers=32), 32), [])

    def test_spills_and_too_many_registers_are_named_with_their_kernel(self):
        self.assertEqual(check_ptx.faults(KERNEL.format(stores=8, loads=4, registers=33), 32),
                         ["rows spills 8 bytes and loads 4", "rows uses 33 registers a thread; the bound is 32"])

    def test_a_text_without_kernels_is_a_fault(self):
        self.assertEqual(check_ptx.faults("ptxas info: nothing", 32), ["ptxas told of no kernel"])


if __name__ == "__main__":
    unittest.main()
