"""Stands in for PyTorch in Python (bench/training/peer.py) in the rehearsal of a day on a GPU: it answers in the same
form, with the losses of a dttrain on a CPU.

usage: DTRAIN_STAND_IN=DTTRAIN peer_stand_in.py CASE.json RANK VARIANT
"""

import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/training"))

import models  # noqa: E402  found only now
import ours  # noqa: E402

case = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))


def trained(steps: int) -> dict:
    spec = models.spec_of(case["model"], batch=case["batch"], length=case["length"], steps=steps,
                          accumulate=case["accumulate"], precision=case["precision"])
    spec["optimizer"]["lr"] = case["lr"]
    spec["schedule"]["warmup_steps"] = min(steps, case.get("warmup_steps", 0))
    gang = ours.Gang(os.environ["DTRAIN_STAND_IN"], 1, [case["cores"][0]], sys.stderr)
    try:
        told = gang.run(spec, os.path.dirname(case["shard"]))
    finally:
        gang.close()
    return {"seconds": told["seconds"], "processor": told["seconds"], "memory": 1 << 20, "losses": told["losses"]}


print(json.dumps({"ready": 0.5}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"kernels": ["flash"]} if "kernels" in asked else trained(asked["steps"])), flush=True)
