"""Writes results as they come: a line of JSON each to the file in DTRAIN_DAY_RECORDS, and a line for people to stdout.
"""

import json
import os
import pathlib


def say(what: str, line: str, /, **values) -> None:
    """Writes one result. `line` is for people. The record has `what`, the stage, and the values."""
    print(f"  {line}", flush=True)
    path = os.environ.get("DTRAIN_DAY_RECORDS")
    if path:
        record = {"what": what, "stage": os.environ.get("DTRAIN_DAY_STAGE", ""), **values}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def read(path: pathlib.Path) -> list[dict]:
    """Reads all of a file except a line that was cut off."""
    records = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                continue
    return records
