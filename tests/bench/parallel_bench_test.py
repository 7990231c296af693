"""Tests of bench/parallel's own computations: bytes on the wire, figures of rounds, specifications for dttrain.

usage: parallel_bench_test.py DTTRAIN WIRE_COUNT.so
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/parallel"))

import parallel_bench  # noqa: E402  found only now
import models  # noqa: E402

DTTRAIN, WIRE_COUNT = map(pathlib.Path, sys.argv[1:3])
SENDER = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as tcp:
    tcp.send(b"x" * 100)
    tcp.sendmsg([b"y" * 20, b"z" * 3])
here, there = socket.socketpair()
here.send(b"not over a network")
"""


class WireTest(unittest.TestCase):
    def test_only_bytes_to_tcp_sockets_are_counted(self):
        with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as server:
            wire = parallel_bench.Wire(WIRE_COUNT.parent, pathlib.Path(name) / "wire")
            sender = subprocess.Popen([sys.executable, "-c", SENDER, str(server.getsockname()[1])],
                                      env={**os.environ, **wire.environment()})
            self.assertEqual(sender.wait(timeout=60), 0)
            self.assertEqual(wire.sent_by([sender]), 123)


class FiguresTest(unittest.TestCase):
    def test_steps_that_warm_up_are_left_out_and_a_row_stands_for_all_its_steps(self):
        def row(step: int, seconds: float) -> dict:
            return {"step": step, "steps": 4, "seconds": seconds, "comm_exposed_seconds": 0.25,
                    "tensor_held_bytes": step, "tensor_peak_bytes": 10 * step}

        rounds = [{"rows": [row(4, 100.0), row(8, seconds)], "memory": seconds, "losses": [3.0, 2.0]}
                  for seconds in (4.0, 8.0, 80.0)]
        figures = parallel_bench.figures_of_ours(rounds, sent=5.0)
        self.assertEqual(figures, parallel_bench.Figures(seconds=2.0, exposed=0.25, held=8, peak=80, process=80.0,
                                                         sent=5.0, losses=[3.0, 2.0]))

    def test_for_pytorch_the_largest_memory_and_the_mean_wait_of_ranks_count(self):
        warm_up = [9.0] * parallel_bench.WARM_UP_STEPS
        ranks = [{"exposed": [*warm_up, 1.0], "held": [*warm_up, held], "peak": [*warm_up, 2 * held]}
                 for held in (5, 7)]
        ranks[1]["exposed"][-1] = 2.0
        told = {"seconds": [*warm_up, 4.0], "ranks": ranks, "memory": 100, "losses": [1.0]}
        figures = parallel_bench.figures_of_theirs([told], sent=5.0)
        self.assertEqual(figures, parallel_bench.Figures(seconds=4.0, exposed=1.5, held=7, peak=14, process=100,
                                                         sent=5.0, losses=[1.0]))


class SpecificationTest(unittest.TestCase):
    def test_dttrain_takes_the_specification_of_the_benchmarks(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            models.write_shard(folder / "train.bin", models.BYTE_GPT["vocab_size"], 1000)
            spec = models.spec_of(models.BYTE_GPT, batch=2, length=64, steps=1)
            (folder / "spec.json").write_text(json.dumps(spec))
            said = subprocess.run([DTTRAIN, "--spec", folder / "spec.json", "--data-root", folder, "--storage", folder,
                                   "--threads", "1"], capture_output=True, text=True, timeout=60, check=False)
            end = json.loads(said.stdout.splitlines()[-1])
            self.assertEqual((end["type"], end["cause"]), ("end", "finished"), end.get("message", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
