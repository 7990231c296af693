"""Tests of the computations of bench/training that run no training: shapes, floors, statistics, agreement of losses."""

import array
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/training"))

import models  # noqa: E402  found only now
import shapes  # noqa: E402


def named(name: str) -> shapes.Shape:
    return next(shape for shape in shapes.SHAPES + shapes.TRIAL_SHAPES if shape.name == name)


class Shapes(unittest.TestCase):
    def test_names_are_unique_and_say_batch_length_and_accumulation(self):
        names = [shape.name for shape in shapes.SHAPES + shapes.TRIAL_SHAPES]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("gpt2:64x1024x8", names)
        self.assertEqual(named("gpt2:64x1024x8").tokens, 8 * 64 * 1024)

    def test_a_name_a_model_and_nothing_choose_shapes(self):
        self.assertEqual([s.name for s in shapes.chosen_shapes("tiny:8x64,gpt2:4x1024", False)],
                         ["tiny:8x64", "gpt2:4x1024"])
        self.assertEqual(len(shapes.chosen_shapes("gpt2", False)), 4)
        self.assertEqual(shapes.chosen_shapes("", False), shapes.SHAPES)
        self.assertEqual([s.name for s in shapes.chosen_shapes("gpt2", True)], ["gpt2:4x1024", "gpt2:64x1024"])
        self.assertEqual([s.name for s in shapes.chosen_shapes("byte:4x64,byte", False)], ["byte:4x64", "byte:2x32x2"])

    def test_an_unknown_shape_is_refused_with_those_there_are(self):
        with self.assertRaisesRegex(ValueError, "no shape 'gpt3'; there are gpt2:4x1024"):
            shapes.chosen_shapes("gpt2,gpt3", False)

    def test_peers_with_cuda_graphs_run_small_shapes_alone(self):
        peers = shapes.chosen_peers("", False, "cuda")
        self.assertIn(shapes.GRAPHS, shapes.peers_of(named("tiny:8x64"), peers))
        self.assertNotIn(shapes.GRAPHS, shapes.peers_of(named("gpt2:64x1024"), peers))
        with self.assertRaisesRegex(ValueError, "no peer 'jit'"):
            shapes.chosen_peers("eager,jit", False, "cuda")


class Floors(unittest.TestCase):
    """Compares with figures worked out by hand for an H200: milliseconds, TFLOP and GB of a step."""

    def test_gpt2(self):
        for name, tflop, gigabytes, strict, serial in [("gpt2:4x1024", 3.3, 12.5, 4.2, 6.2),
                                                       ("gpt2:16x1024", 13.2, 39, 16.7, 22.1),
                                                       ("gpt2:64x1024", 52.9, 144, 67.0, 85.8)]:
            floors = shapes.floors(named(name))
            self.assertAlmostEqual(floors.flop / 1e12, tflop, delta=0.01 * tflop)
            self.assertAlmostEqual(floors.bytes / 1e9, gigabytes, delta=0.01 * gigabytes)
            self.assertAlmostEqual(1e3 * floors.strict, strict, delta=0.01 * strict)
            self.assertAlmostEqual(1e3 * floors.serial, serial, delta=0.01 * serial)

    def test_tiny_transformer(self):
        for name, strict, serial in [("tiny:8x64", 0.36, 0.39), ("tiny:32x64", 0.64, 0.77),
                                     ("tiny:32x256", 1.76, 2.27), ("tiny:8x1024", 1.76, 2.50),
                                     ("tiny:128x256", 6.3, 8.3), ("tiny:32x1024", 6.3, 9.2),
                                     ("tiny:128x1024", 24.7, 36.0), ("tiny:8x2048", 3.3, 5.2),
                                     ("tiny:128x2048", 53.0, 78.7)]:
            floors = shapes.floors(named(name))
            self.assertAlmostEqual(1e3 * floors.strict, strict, delta=0.05 * strict)
            self.assertAlmostEqual(1e3 * floors.serial, serial, delta=0.05 * serial)

    def test_parameters_are_those_of_the_models(self):
        self.assertEqual(shapes.parameters_of(models.GPT2), 124_475_904)
        self.assertEqual(shapes.parameters_of(models.TINY_TRANSFORMER), 38_172_197)


class Statistics(unittest.TestCase):
    def test_windows_divide_warm_up_and_steps_and_leave_five_readings(self):
        self.assertEqual(shapes.window_of(20, 100), 10)
        self.assertEqual(shapes.window_of(20, 30), 5)
        self.assertEqual(shapes.window_of(20, 20), 4)
        self.assertEqual(shapes.window_of(5, 20), 1)
        self.assertEqual(shapes.window_of(0, 3), 1)

    def test_windows_are_means_and_an_unfinished_one_does_not_count(self):
        self.assertEqual(shapes.in_windows([1, 3, 5, 7, 100], 2), [2, 6])

    def test_percentiles_lie_between_the_nearest_values(self):
        self.assertEqual(shapes.percentile([3, 1, 2], 0.5), 2)
        self.assertAlmostEqual(shapes.percentile([0, 10], 0.9), 9)
        self.assertEqual(shapes.percentile([4], 0.1), 4)

    def test_times_are_over_the_readings_of_all_rounds(self):
        times = shapes.times_of([[1.0, 2.0], [3.0, 4.0, 100.0]])
        self.assertEqual(times.median, 3.0)
        self.assertGreater(times.p90, 4.0)


class Losses(unittest.TestCase):
    def test_early_steps_may_differ_less_than_later_ones(self):
        ours = [4.0] * 30
        later = ours[:25] + [4.04] + ours[26:]
        self.assertEqual(shapes.agreement(ours, later, "bf16").problem, "")
        early = ours[:10] + [4.04] + ours[11:]
        self.assertRegex(shapes.agreement(ours, early, "bf16").problem, r"^step 11: .*0\.02 is allowed")
        self.assertRegex(shapes.agreement(ours, later, "fp32").problem, "step 26: .*0.0001 is allowed")

    def test_the_largest_differences_are_distinguished(self):
        found = shapes.agreement([1.0] * 30, [1.01] * 20 + [1.03] * 10, "bf16")
        self.assertAlmostEqual(found.early, 0.01)
        self.assertAlmostEqual(found.all, 0.03)

    def test_nan_and_nothing_never_agree(self):
        self.assertNotEqual(shapes.agreement([1.0, float("nan")], [1.0, 1.0], "bf16").problem, "")
        self.assertNotEqual(shapes.agreement([], [], "bf16").problem, "")


class Shards(unittest.TestCase):
    def test_a_shard_has_llm_cs_header_and_as_many_tokens_as_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "train.bin"
            drawn, models.DRAWN_TOKENS = models.DRAWN_TOKENS, 1000
            try:
                models.write_shard(path, 257, 2500)
            finally:
                models.DRAWN_TOKENS = drawn
            bytes_ = path.read_bytes()
            self.assertEqual(array.array("i", bytes_[:12]).tolist(), [20240520, 1, 2500])
            ids = array.array("H", bytes_[1024:])
            self.assertEqual(len(ids), 2500)
            self.assertLess(max(ids), 257)
            self.assertEqual(ids[:500], ids[1000:1500])


if __name__ == "__main__":
    unittest.main()
