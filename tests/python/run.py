"""Runs one file of tests of the Python client with the environment that ./dev setup makes for it.

usage: run.py NAME WHEEL PROGRAMS_DIR     exits 77 with the reason if there is no such environment

Imports the package from the wheel itself. The tests find WHEEL and PROGRAMS_DIR in the variables DTRAIN_TEST_WHEEL and
DTRAIN_TEST_PROGRAMS.
"""

import os
import pathlib
import subprocess
import sys

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    name, wheel, programs = sys.argv[1:]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    python = cache / "dtrain/python-client/bin/python"
    if not python.exists():
        print(f"skipped: there is no {python} with grpcio and protobuf; ./dev setup makes it, and says why it cannot")
        return SKIPPED
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DTCTL_", "XDG_", "PYTHON"))}
    variables = {**kept, "PYTHONPATH": os.pathsep.join([wheel, str(HERE)]), "PYTHONDONTWRITEBYTECODE": "1",
                 "DTRAIN_TEST_WHEEL": wheel, "DTRAIN_TEST_PROGRAMS": programs,
                 "DTRAIN_TEST_WHEELS": str(cache / "dtrain/wheels")}
    return subprocess.run([python, "-m", "unittest", "-v", name], env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
