// gpu_test.cc: the same attempts on every kind of device. On a machine without a GPU its cases
// report that and are skipped; those for the CPU run everywhere, which shows that the cases
// themselves work.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/gpu/device_fixture.h"
#include "worker/trainer/parallel/agreement.h"

namespace dt::trainer {
namespace {

TEST_P(DeviceTest, DataParallelOfOneRankEqualsThePlainRun) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "30";
  spec["train"]["global_batch_size"] = "8";
  const Told plain = Train(spec);
  const Told parallel = Train(spec, AttemptOptions::Alone::kDataParallel);
  ASSERT_EQ(plain.Cause(), "finished") << plain.Message();
  ASSERT_EQ(parallel.Cause(), "finished") << parallel.Message();
  ASSERT_EQ(plain.rows.size(), 30u);
  EXPECT_LE(LargestDifference(plain.Losses(), parallel.Losses()), 1e-5);
  EXPECT_EQ(plain.Column("allreduce_bytes").back(), 0);
}

TEST_P(DeviceTest, EveryBucketsAllReduceIsTimed) {
  const Told told = Train(SmallSpec(), AttemptOptions::Alone::kDataParallel);
  ASSERT_EQ(told.rows.size(), 8u);
  const double parameters = static_cast<double>(told.prepared[0].model_parameters);
  for (const nlohmann::json& row : told.rows) {
    const auto value = [&](const char* field) { return row.at(field).get<double>(); };
    EXPECT_GE(value("allreduce_count"), 2) << "bucket_mb asks for several buckets";
    EXPECT_EQ(value("allreduce_bytes"), 4 * parameters);
    EXPECT_GT(value("allreduce_seconds"), 0);
    EXPECT_LT(value("allreduce_seconds"), value("seconds"));
    EXPECT_GE(value("comm_exposed_seconds"), 0);
    EXPECT_GT(value("forward_seconds"), 0);
    EXPECT_GT(value("backward_seconds"), 0);
    EXPECT_GT(value("optimizer_seconds"), 0);
    EXPECT_GT(value("memory_peak_bytes"), 1 << 20);
  }
}

TEST_P(DeviceTest, AutocastTrainsNearlyAsFp32Does) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "60";
  spec["optimizer"]["lr"] = 3e-3;
  const Told fp32 = Train(spec);
  for (const char* compute : {"bf16", "fp16"}) {
    spec["precision"]["compute"] = compute;
    const Told told = Train(spec);
    ASSERT_EQ(told.Cause(), "finished") << told.Message();
    EXPECT_LT(told.Losses().back(), told.Losses().front() - 0.3) << compute << " learns";
    EXPECT_NE(told.Losses(), fp32.Losses()) << "one loss may be equal to the bit";
    EXPECT_LE(LargestDifference(told.Losses(), fp32.Losses()), 0.1);
  }
}

TEST_P(DeviceTest, AnEvaluationScoresHellaSwagAndWritesSamples) {
  folder_.Write(
      "hellaswag.jsonl",
      "{\"ctx\": \"a b\", \"endings\": [\"c\", \"dd\", \"eee\", \"ffff\"], \"label\": 2}\n");
  nlohmann::json spec = SmallSpec();
  spec["precision"]["compute"] = "bf16";
  spec["data"]["tokenizer"] = "byte";
  spec["model"]["vocab_size"] = 257;
  spec["model"]["vocab_pad"] = 320;
  spec["eval"]["hellaswag"] = "hellaswag.jsonl";
  spec["eval"]["samples"] = 2;
  spec["eval"]["sample_tokens"] = 40;
  const Told told = Train(spec);
  ASSERT_EQ(told.Cause(), "finished") << told.Message();
  ASSERT_EQ(told.evals.size(), 1u);
  ASSERT_TRUE(told.evals[0].hellaswag_acc);
  EXPECT_TRUE(*told.evals[0].hellaswag_acc == 0 || *told.evals[0].hellaswag_acc == 1);
  ASSERT_EQ(told.evals[0].samples.size(), 2u);
  EXPECT_NE(told.evals[0].samples[0], told.evals[0].samples[1]);
}

TEST_P(DeviceTest, ANonFiniteGradientEndsTheAttempt) {
  nlohmann::json spec = SmallSpec();
  // Tokens that the first batch lacks get 0/0 as their update; a later batch has them.
  spec["optimizer"]["eps"] = testing::kNothing;
  spec["model"]["tie_head"] = false;
  spec["train"]["max_steps"] = "50";
  spec["logging"] = {{"every", "5"}};
  const Told told = Train(spec);
  EXPECT_EQ(told.Cause(), "nonfinite");
  for (const double norm : told.Column("grad_norm")) EXPECT_TRUE(std::isfinite(norm));
}

TEST_P(DeviceTest, TheHashOfParametersEqualsACpus) {
  auto generator = at::detail::createCPUGenerator(7);
  const at::Tensor small = at::empty({65}).normal_(0, 1, generator);
  const at::Tensor large = at::empty({(1 << 20) + 3}).normal_(0, 1, generator);
  const c10::Device device = device_->Torch();
  EXPECT_EQ(HashBits({small.to(device), large.to(device)}), HashBits({small, large}));
}

TEST_P(DeviceTest, AStopNeverSavesAStateWhoseGradientsWereNotFinite) {
  nlohmann::json spec = SmallSpec();
  spec["optimizer"]["eps"] = testing::kNothing;
  spec["model"]["tie_head"] = false;
  spec["train"]["max_steps"] = "50";
  spec["logging"] = {{"every", "1000"}};  // nothing is read from a GPU before the stop
  storage_ = folder_.path();
  RecordedConversation conversation;
  conversation.stop_at = 40;
  const Told told = Train(spec, AttemptOptions::Alone::kPlain, conversation);
  EXPECT_EQ(told.Cause(), "nonfinite") << told.Message();
  EXPECT_TRUE(told.checkpoints.empty());
}

TEST_P(DeviceTest, AGpuWhoseGroupWasAbortedSavesNothing) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "50";
  storage_ = folder_.path();
  RecordedConversation conversation;
  conversation.stop_at = 5;
  conversation.breaks_group = true;
  const Told told = Train(spec, AttemptOptions::Alone::kDataParallel, conversation);
  EXPECT_EQ(told.Cause(), "cancelled") << told.Message();
  // A CPU's collectives throw before the optimizer runs, so its parameters are those of a complete
  // step.
  EXPECT_EQ(told.checkpoints.size(), device_->Torch().is_cuda() ? 0 : 1);
  EXPECT_EQ(Train(SmallSpec(), AttemptOptions::Alone::kDataParallel).Cause(), "finished");
}

TEST_P(DeviceTest, AResumeGoesOnWithTheLossesOfTheUninterruptedRun) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "12";
  spec["model"]["dropout"] = 0.1;
  spec["checkpoint"]["every"]["steps"] = "6";
  spec["checkpoint"]["keep_latest"] = 10;
  storage_ = folder_.path();
  for (const auto alone : {AttemptOptions::Alone::kPlain, AttemptOptions::Alone::kDataParallel}) {
    resume_.reset();
    const Told whole = Train(spec, alone);
    ASSERT_EQ(whole.checkpoints.size(), 2u);
    resume_ = frames::Resume{6, whole.checkpoints[0].path, whole.checkpoints[0].manifest_hash};
    const Told rest = Train(spec, alone);
    ASSERT_EQ(rest.rows.size(), 6u) << rest.Message();
    const std::vector<double> losses = whole.Losses();
    EXPECT_LE(LargestDifference({losses.begin() + 6, losses.end()}, rest.Losses()), 1e-5);
  }
}

// Takes the GPU's memory except for less than half a GiB.
std::vector<at::Tensor> Ballast(const Device& device) {
  std::vector<at::Tensor> taken;
  const auto bytes_of = at::TensorOptions(device.Torch()).dtype(at::kByte);
  for (auto bytes = static_cast<int64_t>(device.Facts().memory_bytes); bytes > 256 << 20;
       bytes /= 2) {
    try {
      taken.push_back(at::empty({bytes}, bytes_of));
    } catch (const c10::OutOfMemoryError&) {  // try half as much
    }
  }
  return taken;
}

TEST_P(DeviceTest, AnOversizedBatchIsAnOutcomeAndTheNextTrialTrains) {
  if (!device_->Torch().is_cuda()) GTEST_SKIP() << "attempt_test shows it under a limit";
  nlohmann::json spec = SmallSpec();
  spec["train"]["batch_size"] = 512;  // 3 GiB of logits, which the head does not split into smaller
                                      // chunks
  spec["model"]["vocab_pad"] = 50304;
  const auto train_too_much = [&](AttemptOptions::Alone alone) {
    const std::vector<at::Tensor> ballast = Ballast(*device_);
    return Train(spec, alone);
  };
  const Told first = train_too_much(AttemptOptions::Alone::kPlain);
  EXPECT_EQ(first.Cause(), "oom") << first.Message();
  EXPECT_EQ(Train(SmallSpec()).Cause(), "finished");
  EXPECT_NE(first.Message().find("of this GPU"), std::string::npos);
  // The Reducer holds buckets and an aborted group; a new group follows in this process.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(train_too_much(AttemptOptions::Alone::kDataParallel).Cause(), "oom");
    EXPECT_EQ(Train(SmallSpec(), AttemptOptions::Alone::kDataParallel).Cause(), "finished");
  }
}

INSTANTIATE_TEST_SUITE_P(On, DeviceTest, ::testing::Values("cpu", "cuda:0"), NameOfKind);

}  // namespace
}  // namespace dt::trainer
