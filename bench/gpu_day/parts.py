"""Runs one stage of a day on a GPU: parts.py STAGE. records.py takes the results; the exit code is the outcome."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "training"))

import kit as kits  # noqa: E402  found only now
import machine  # noqa: E402
import sanitizer  # noqa: E402
import step_table  # noqa: E402
import tests_of_gpu  # noqa: E402
import trainings  # noqa: E402

PARTS = {"machine": machine.run, "pytorch": trainings.pytorch, "tests": tests_of_gpu.run,
         "step-table": step_table.run, "sanitizer": sanitizer.run, "recipe": trainings.recipe,
         "memory": step_table.memory, "settings": trainings.settings}


def main() -> int:
    return PARTS[sys.argv[1]](kits.load(os.environ.get("DTRAIN_DAY_KIT", "")))


if __name__ == "__main__":
    sys.exit(main())
