"""Tests of the decisions and computations of bench/gpu_day: the next stage, the names of kernels, and its tables."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/training"), str(ROOT / "bench/gpu_day")]

import kernels  # noqa: E402  found only now
import kit  # noqa: E402
import planner  # noqa: E402
import sanitizer  # noqa: E402
import shapes  # noqa: E402
import stages  # noqa: E402
import tables  # noqa: E402
import tests_of_gpu  # noqa: E402

from planner import BROKEN, BUILDING, BUILT, Past, Stage  # noqa: E402

FACTS = Stage("facts", 60, 10, trainer=False)
LONG = Stage("long", 240, 100)
SHORT = Stage("short", 100, 30)
EVERY = [FACTS, LONG, SHORT]
WHOLE = 540.0


def act(past=None, build=BUILT, left=WHOLE, every=EVERY, whole=WHOLE):
    told = planner.next_act(every, past or {}, build, left, whole)
    return told.kind, told.stage.name if told.stage else "", told.seconds


class Planner(unittest.TestCase):
    def test_the_most_valuable_stage_that_is_open_comes_first(self):
        self.assertEqual(act(), ("run", "facts", 60))
        self.assertEqual(act({"facts": Past("done")}), ("run", "long", 240))
        self.assertEqual(act({"facts": Past("done"), "long": Past("failed", 1)}), ("run", "short", 100))

    def test_only_stages_that_need_the_trainer_wait_for_its_build(self):
        self.assertEqual(act(build=BUILDING)[:2], ("run", "facts"))
        self.assertEqual(act({"facts": Past("done")}, BUILDING), ("wait", "", WHOLE - planner.RESERVE))
        self.assertEqual(act({"facts": Past("done")}, BUILDING, left=10)[:2], ("again", "long"))

    def test_without_a_trainer_the_rest_is_done_and_the_day_is_over(self):
        self.assertEqual(act(build=BROKEN)[:2], ("run", "facts"))
        self.assertEqual(act({"facts": Past("done")}, BROKEN)[0], "finished")

    def test_a_stage_gets_no_more_than_is_left_and_a_shorter_one_passes_one_that_does_not_fit(self):
        done = {"facts": Past("done")}
        self.assertEqual(act(done, left=200), ("run", "long", 200 - planner.RESERVE))
        self.assertEqual(act(done, left=100), ("run", "short", 100 - planner.RESERVE))
        self.assertEqual(act(done, left=40)[:2], ("again", "long"))

    def test_a_stage_longer_than_any_call_is_begun_all_the_same(self):
        self.assertEqual(act({"facts": Past("done")}, left=60, whole=60)[:2], ("run", "long"))

    def test_a_stage_that_the_end_of_a_call_stopped_is_retried_a_bounded_number_of_times(self):
        past = Past()
        for number in range(1, planner.CUTS + 1):
            self.assertTrue(planner.is_open(LONG, {"long": past}, BUILT))
            past = planner.noted(past, LONG, None, LONG.most - 1, 5.0, "")
            self.assertEqual((past.status, past.cuts, past.tries), ("cut", number, 0))
        self.assertFalse(planner.is_open(LONG, {"long": past}, BUILT))

    def test_the_end_of_a_call_a_failure_and_a_stages_own_limit_are_distinguished(self):
        self.assertEqual(planner.noted(Past(), LONG, 0, 100, 1.0, "").status, "done")
        self.assertEqual(planner.noted(Past(), LONG, 1, 100, 1.0, "").status, "failed")
        self.assertEqual(planner.noted(Past(), LONG, None, LONG.most, 1.0, "").status, "failed")
        self.assertEqual(planner.noted(Past(), LONG, planner.UNFINISHED, LONG.most, 1.0, "").status, "cut")
        self.assertEqual(planner.noted(Past(seconds=2), LONG, 0, 100, 1.5, "").seconds, 3.5)

    def test_calls_of_any_length_come_to_an_end_and_take_no_longer_than_they_may(self):
        every = stages.of(kit.Kit())
        for minutes in (1, 3, 9, 30):
            past, calls = {}, 0
            while True:
                calls += 1
                self.assertLess(calls, 100)
                left = whole = 60.0 * minutes
                while (told := planner.next_act(every, past, BUILT, left, whole)).kind == "run":
                    self.assertLessEqual(told.seconds, left)
                    left -= told.seconds  # each takes all the time it may, and is stopped
                    old = past.get(told.stage.name, Past())
                    past[told.stage.name] = planner.noted(old, told.stage, None, told.seconds, told.seconds, "")
                if told.kind == "finished":
                    break


class Stages(unittest.TestCase):
    def test_the_first_figures_need_no_trainer_and_every_stage_fits_a_call(self):
        every = stages.of(kit.Kit())
        self.assertEqual([stage.name for stage in every if not stage.trainer], ["machine", "pytorch"])
        self.assertEqual([stage.name for stage in every[:2]], ["machine", "pytorch"])
        self.assertLess(every[0].most + every[1].least, 180)
        for stage in every:
            self.assertLessEqual(stage.most, WHOLE - planner.RESERVE)
            self.assertLessEqual(stage.least, stage.most)

    def test_each_stage_has_a_command_and_the_benchmarks_shapes(self):
        chosen = kit.Kit()
        for stage in stages.of(chosen):
            self.assertTrue(stages.command(chosen, stage.name))
        for name in (*chosen.shapes, chosen.graph_shape, *chosen.memory_shapes, chosen.shape):
            self.assertEqual([shape.name for shape in shapes.chosen_shapes(name, False)], [name])


# As ncu prints it: its own lines, a head, units, kernels in the order of the step.
NAMES = ["void vectorized_layer_norm_kernel<float>", "sm90_xmma_gemm_bf16bf16", "cudnn_generated_native_sdpa_flash",
         "void elementwise_kernel<CUDAFunctor_add<c10::BFloat16>>", "void GeluCUDAKernelImpl", "nvjet_sm90_tst",
         "sm90_xmma_gemm_f32", "dtrain_softmax_rows", "gemm_dx", "gemm_dw", "gemm_logits", "dtrain_softmax_rows",
         "gemm_dx", "gemm_dw", "void GammaBetaBackwardCUDAKernel", "void reduce_kernel<512>", "gemm_linear",
         "cudnn_sdpa_flash_bprop", "void GeluBackwardCUDAKernelImpl", "void CatArrayBatchedCopy_vectorized",
         "void embedding_backward_feature_kernel", "void multi_tensor_apply_kernel<FusedAdamMathFunctor>",
         "void bfloat16_copy_kernel_cuda", "something_new"]
GROUPS = ["LayerNorm and residual forward", "linears forward", "attention forward", "LayerNorm and residual forward",
          "GELU forward", "linears forward", "head: logits, dX, dW", "softmax_rows", *["head: logits, dX, dW"] * 3,
          "softmax_rows", *["head: logits, dX, dW"] * 2, "LayerNorm and residual backward", "bias-gradient sums",
          "linears backward", "attention backward", "GELU backward", "cat of dq, dk, dv", "embedding",
          "norm and AdamW", "casts and adds", "other"]


class Kernels(unittest.TestCase):
    def test_a_kernels_group_follows_from_its_name_and_its_place_in_the_step(self):
        found = [kernels.Kernel(name, 1e-3) for name in NAMES]
        self.assertEqual(list(zip(NAMES, kernels.grouped(found))), list(zip(NAMES, GROUPS)))

    def test_the_table_has_every_group_and_loses_no_time(self):
        told = kernels.table([kernels.Kernel(name, 1e-3, 2e9) for name in NAMES])
        self.assertEqual([row["group"] for row in told], [*kernels.ESTIMATES, kernels.OTHER])
        self.assertAlmostEqual(sum(row["ms"] for row in told), len(NAMES))
        self.assertAlmostEqual(sum(row["gb"] for row in told), 2 * len(NAMES))
        self.assertEqual(sum(row["launches"] for row in told), len(NAMES))
        self.assertEqual(told[-1]["longest"], ["something_new"])

    def test_ncus_raw_page_is_read_in_its_units(self):
        text = ('==PROF== Connected to process 1\n"ID","Process ID","Kernel Name","dram__bytes.sum",'
                '"gpu__time_duration.sum"\n"","","","Mbyte","us"\n"0","7","void a<1, 2>(int)","1,500.5","2"\n'
                '"1","7","b","","1,000"\n')
        self.assertEqual(kernels.from_ncu(text), [kernels.Kernel("void a<1, 2>(int)", 2e-6, 1500.5e6),
                                                  kernels.Kernel("b", 1e-3, 0.0)])

    def test_ncus_page_of_details_is_read_too_and_no_table_is_an_error(self):
        text = ('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
                '"0","a","gpu__time_duration.sum","ns","3,000"\n"0","a","dram__bytes.sum","byte","12"\n'
                '"1","b","gpu__time_duration.sum","us","4"\n')
        self.assertEqual(kernels.from_ncu(text), [kernels.Kernel("a", 3e-6, 12.0), kernels.Kernel("b", 4e-6)])
        with self.assertRaisesRegex(ValueError, "no table"):
            kernels.from_ncu("==ERROR== ERR_NVGPUCTRPERM\n")

    def test_a_trace_has_kernels_in_the_order_of_their_begin(self):
        text = ('{"traceEvents": [{"cat": "kernel", "name": "late", "ts": 20.5, "dur": 3}, {"ph": "M", "name": "x"}, '
                '{"cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 9}, '
                '{"cat": "gpu_memcpy", "name": "early", "ts": 10, "dur": 2}]}')
        self.assertEqual(kernels.from_trace(text), [kernels.Kernel("early", 2e-6), kernels.Kernel("late", 3e-6)])


class Tests(unittest.TestCase):
    def test_cases_are_listed_with_their_suite_and_without_comments(self):
        self.assertEqual(tests_of_gpu.cases('Running main()\nOn/DeviceTest.\n  A/cpu  # GetParam() = "cpu"\n  A/cuda\n'
                                            'Plain.\n  B\n'),
                         ["On/DeviceTest.A/cpu", "On/DeviceTest.A/cuda", "Plain.B"])

    def test_ends_are_read_and_a_failures_output_is_kept(self):
        watched = tests_of_gpu.Watched()
        lines = ["[ RUN      ] S.A", "[       OK ] S.A (12 ms)", "[ RUN      ] S.B/1", "x.cc:3: Failure", "1 is not 2",
                 "[  FAILED  ] S.B/1, where GetParam() = 1 (3 ms)", "[  FAILED  ] S.B/1", "[ RUN      ] S.C"]
        told = [ended for line in lines if (ended := watched.line(line))]
        self.assertEqual(told, [("S.A", "OK", 12, ""), ("S.B/1", "FAILED", 3, "x.cc:3: Failure\n1 is not 2")])
        self.assertEqual(watched.running, "S.C")

    def test_only_a_summary_without_errors_is_clean(self):
        for text, clean in (("========= ERROR SUMMARY: 0 errors", True), ("========= ERROR SUMMARY: 10 errors", False),
                            ("= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", True),
                            ("it ended", False)):
            self.assertEqual(sanitizer.is_clean(sanitizer.summary(text)), clean, text)


class Tables(unittest.TestCase):
    def test_the_newest_result_counts_and_open_stages_are_named(self):
        results = [{"what": "bench", "shape": "gpt2:4x1024", "who": "dttrain", "ms": ms, "tokens_per_second": 1e5,
                    "memory_gib": 2.0} for ms in (20.0, 10.0)]
        page = tables.page(results, ["machine", "tests"], {"machine": {"status": "done", "seconds": 3.2, "note": ""}})
        self.assertIn("| gpt2:4x1024 | dttrain | 10.00 | 100,000 | 2.00 |", page)
        self.assertNotIn("20.00", page)
        self.assertIn("| machine | done | 3 |", page)
        self.assertIn("| tests | open | 0 |", page)

    def test_without_results_the_page_lists_open_stages(self):
        self.assertEqual(tables.page([], ["a"], {}).count("##"), 1)


if __name__ == "__main__":
    unittest.main()
