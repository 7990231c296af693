"""The wheel in a fresh virtual environment with its requirements and nothing else."""

import email
import inspect
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import dtrain

WHEEL = pathlib.Path(os.environ["DTRAIN_TEST_WHEEL"])
WHEELS = os.environ["DTRAIN_TEST_WHEELS"]
MANUAL = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/python.md"


class FreshEnvironmentTest(unittest.TestCase):
    def test_the_wheel_installs_offline_works_and_asks_for_pandas_for_a_frame(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        venv = pathlib.Path(folder.name) / "venv"
        python = venv / "bin/python"
        self.run_(sys.executable, "-m", "venv", "--without-pip", str(venv))
        self.run_(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install",
                  "--quiet", "--no-index", "--find-links", WHEELS, str(WHEEL))
        said = self.run_(str(python), "-c", """
import importlib.metadata, dtrain
print(dtrain.__version__ == importlib.metadata.version("dtrain"), dtrain.Client("127.0.0.1:1"))
from dtrain import _tables
try:
    _tables.trials_frame([], [])
except dtrain.DtrainError as error:
    print(error)
""")
        self.assertEqual(said.splitlines(), [
            "True dtrain.Client('127.0.0.1:1')",
            "data frames need pandas, which is not installed; run 'python3 -m pip install pandas', or use the method "
            "without _df"])

    def run_(self, *command: str) -> str:
        variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return done.stdout


class ContentTest(unittest.TestCase):
    def test_the_wheel_needs_only_grpcio_and_protobuf(self) -> None:
        with zipfile.ZipFile(WHEEL) as archive:
            names = archive.namelist()
            [path] = [name for name in names if name.endswith("/METADATA")]
            metadata = email.message_from_bytes(archive.read(path))
            [path] = [name for name in names if name.endswith("/RECORD")]
            recorded = [line.split(",")[0] for line in archive.read(path).decode().splitlines()]
        needs = [need for need in metadata.get_all("Requires-Dist") if "extra ==" not in need]
        self.assertEqual([re.match(r"\w+", need)[0] for need in needs], ["grpcio", "protobuf"])
        self.assertEqual(metadata["Version"], dtrain.__version__)
        self.assertEqual(sorted(recorded), sorted(names))
        self.assertIn("dtrain/py.typed", names)
        self.assertIn("dtrain/v1/control_pb2.pyi", names)

    def test_every_public_name_is_typed_and_documented(self) -> None:
        for name in dtrain.__all__:
            one = getattr(dtrain, name)
            if not inspect.isclass(one):
                continue
            self.assertTrue(one.__doc__, name)
            for method, function in inspect.getmembers(one, inspect.isfunction):
                if method.startswith("_") or not function.__module__.startswith("dtrain"):
                    continue
                with self.subTest(f"{name}.{method}"):
                    self.assertTrue(function.__doc__)
                    signature = inspect.signature(function)
                    self.assertIsNot(signature.return_annotation, inspect.Signature.empty)
                    for parameter in list(signature.parameters.values())[1:]:
                        self.assertIsNot(parameter.annotation, inspect.Parameter.empty, parameter.name)

    def test_the_manual_names_every_method_of_the_client(self) -> None:
        text = MANUAL.read_text(encoding="utf-8")
        for method, _ in inspect.getmembers(dtrain.Client, inspect.isfunction):
            if not method.startswith("_"):
                self.assertIn(f"`{method}(", text)

    def test_a_program_that_runs_as_a_trial_finds_its_functions_here(self) -> None:
        for name in ("parameters", "report", "checkpoint", "progress", "resume", "should_stop"):
            self.assertIs(getattr(dtrain, name), getattr(dtrain.trial, name), name)


if __name__ == "__main__":
    unittest.main()
