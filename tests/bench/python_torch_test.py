"""Tests of bench/training/python_torch.py: the peer's Python package on a machine with nothing but ./dev setup."""

import pathlib
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/training"))
import python_torch  # noqa: E402


class PackageTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = pathlib.Path(self.folder.name)
        self.libtorch = self.cache / "libtorch-2.11.0"
        (self.libtorch / "torch/lib").mkdir(parents=True)
        (self.libtorch / "torch/include").mkdir()
        (self.libtorch / "nvidia").mkdir()
        (self.libtorch / "torch/version.py").write_text("__version__ = '2.11.0+cu130'\n")
        (self.libtorch / "torch/lib/libtorch_cpu.so").write_text("the library that dttrain links")

    def write_wheel(self):
        (self.cache / "wheels").mkdir()
        with zipfile.ZipFile(self.cache / "wheels/torch-2.11.0-cp311-cp311-linux_x86_64.whl", "w") as wheel:
            wheel.writestr("torch/__init__.py", "python")
            wheel.writestr("torch/lib/libtorch_cpu.so", "another copy")

    def test_a_folder_of_headers_and_libraries_gets_the_wheels_python_files_beside_its_own_libraries(self):
        self.write_wheel()
        package = python_torch._package(self.libtorch, self.cache)
        self.assertEqual((package / "torch/__init__.py").read_text(), "python")
        self.assertEqual((package / "torch/lib/libtorch_cpu.so").read_text(), "the library that dttrain links")
        self.assertEqual(python_torch._package(self.libtorch, self.cache), package)

    def test_a_completely_unpacked_wheel_is_used_as_it_is(self):
        (self.libtorch / "torch/__init__.py").write_text("")
        self.assertEqual(python_torch._package(self.libtorch, self.cache), self.libtorch)

    def test_without_the_wheel_the_message_names_the_command_that_fetches_it(self):
        with self.assertRaisesRegex(python_torch.Absent, "torch-2.11.0-cp311.*dev setup"):
            python_torch._package(self.libtorch, self.cache)


if __name__ == "__main__":
    unittest.main()
