// count_test.cc: what a step asks of a GPU: how often, how much, and that the host never waits for
// it. LibTorch's own CUDA code runs here; only the kernels do nothing.
#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>

#include "tests/fake_cuda/fake_cuda.h"
#include "tests/gpu/device_fixture.h"

namespace dt::trainer {
namespace {

using fake_cuda::Call;
using fake_cuda::Kind;
using fake_cuda::TakeCalls;
using Alone = AttemptOptions::Alone;

constexpr int kSteps = 8;
// The first steps make what lasts: memory, plans, and with DDP the final buckets.
constexpr int kWarmSteps = 4;

struct Counted {
  Told told;
  std::vector<std::vector<Call>> steps;  // those between the warm ones and the last
  std::vector<Call> rest;                // before and after
};

bool IsWork(const Call& call) {
  return call.kind == Kind::kLaunch || call.kind == Kind::kProduct || call.kind == Kind::kCopy ||
         call.kind == Kind::kFill || (call.kind == Kind::kPlan && call.what == "run");
}

template <typename Predicate>
size_t CountIf(const std::vector<Call>& calls, const Predicate& predicate) {
  return static_cast<size_t>(std::count_if(calls.begin(), calls.end(), predicate));
}

class CountTest : public DeviceTest {
 protected:
  Counted Count(nlohmann::json spec, Alone alone) {
    spec["train"]["max_steps"] = std::to_string(kSteps);
    spec["logging"] = {{"every", "1000"}};
    spec["eval"] = {{"every", "0"}, {"batches", 1}};
    Counted counted;
    RecordedConversation conversation;
    conversation.on_question = [&](int question) {
      std::vector<Call> calls = TakeCalls();
      const bool steady = question > kWarmSteps + 1 && question <= kSteps;
      if (steady) {
        counted.steps.push_back(std::move(calls));
      } else {
        counted.rest.insert(counted.rest.end(), calls.begin(), calls.end());
      }
    };
    counted.told = Train(spec, alone, conversation);
    const std::vector<Call> calls = TakeCalls();
    counted.rest.insert(counted.rest.end(), calls.begin(), calls.end());
    EXPECT_EQ(counted.told.Cause(), "finished") << counted.told.Message();
    EXPECT_EQ(counted.steps.size(), static_cast<size_t>(kSteps - kWarmSteps - 1));
    for (const auto& step : counted.steps)
      RecordProperty("work", static_cast<int>(CountIf(step, IsWork)));
    return counted;
  }

  // In every step the host waits for nothing, and asks the driver for no memory.
  static void ExpectSteady(const Counted& counted, size_t work_max) {
    for (const std::vector<Call>& step : counted.steps) {
      for (const Call& call : step) {
        EXPECT_FALSE(call.pageable) << call.what << " of " << call.bytes << " bytes";
        EXPECT_NE(call.kind, Kind::kWait) << call.what;
        EXPECT_NE(call.kind, Kind::kAllocation) << call.what << " of " << call.bytes << " bytes";
        EXPECT_NE(call.kind, Kind::kFault) << call.what;
        EXPECT_FALSE(call.kind == Kind::kPlan && call.what == "made");
      }
      EXPECT_LE(CountIf(step, IsWork), work_max);
    }
    EXPECT_EQ(CountIf(counted.rest, [](const Call& call) { return call.kind == Kind::kFault; }),
              0u);
  }

  static nlohmann::json Tiny() {
    nlohmann::json spec = SmallSpec();
    spec["precision"]["compute"] = "bf16";
    return spec;
  }
  nlohmann::json Gpt2(int batch) {
    testing::WriteShard(folder_, "train.bin", 64 * 1024 * 2 + 1);
    testing::WriteShard(folder_, "val.bin", 1024 * batch + 1);
    nlohmann::json spec = SmallSpec();
    spec["model"] = {{"preset", "gpt2"},    {"n_layer", 12},     {"n_head", 12},
                     {"n_embd", 768},       {"n_ff", 3072},      {"n_positions", 1024},
                     {"vocab_size", 50257}, {"vocab_pad", 50304}};
    spec["train"]["batch_size"] = batch;
    spec["train"]["seq_len"] = 1024;
    spec["parallel"] = {{"bucket_mb", 25}};
    spec["precision"]["compute"] = "bf16";
    return spec;
  }
};

TEST_P(CountTest, AStepOfASmallModelAsksForFewKernelsAndNeverWaits) {
  ExpectSteady(Count(Tiny(), Alone::kPlain), 427);
}

TEST_P(CountTest, AStepOfGpt2AsksForFewKernelsAndNeverWaits) {
  ExpectSteady(Count(Gpt2(64), Alone::kPlain), 900);
}

TEST_P(CountTest, AStepWithDataParallelismNeverWaitsEither) {
  ExpectSteady(Count(Gpt2(4), Alone::kDataParallel), 1300);
}

TEST_P(CountTest, MemoryOfGpt2IsThatOfItsActivations) {
  constexpr double kGiB = 1 << 30;
  const auto peak = [&](int batch) {
    c10::cuda::CUDACachingAllocator::emptyCache();
    return Count(Gpt2(batch), Alone::kPlain).told.rows.at(0).at("memory_peak_bytes").get<double>();
  };
  EXPECT_LE(peak(64), 26 * kGiB);
  EXPECT_LE(peak(4), 7 * kGiB);
}

TEST_P(CountTest, AFewTokensAreEmbeddedWithoutTheKernelThatRaces) {
  for (const std::vector<Call>& step : Count(Tiny(), Alone::kPlain).steps) {
    for (const Call& call : step) {
      EXPECT_EQ(call.what.find("embedding_backward_feature_kernel"), std::string::npos);
    }
  }
}

TEST_P(CountTest, SamplesOfGrowingLengthMakeNoPlans) {
  nlohmann::json spec = Tiny();
  spec["data"]["tokenizer"] = "byte";
  spec["model"]["n_embd"] = 128;  // heads of 64, for which cuDNN is preferred
  spec["model"]["vocab_size"] = 257;
  spec["model"]["vocab_pad"] = 320;
  spec["train"]["max_steps"] = "2";
  const auto plans = [&](int samples) {
    spec["eval"] = {{"every", "0"}, {"batches", 1}, {"samples", samples}, {"sample_tokens", 20}};
    TakeCalls();
    const Told told = Train(spec);
    EXPECT_EQ(told.Cause(), "finished") << told.Message();
    return CountIf(TakeCalls(), [](const Call& call) {
      return call.kind == Kind::kPlan && call.what == "made";
    });
  };
  EXPECT_GT(plans(0), 0u) << "training's own";
  EXPECT_EQ(plans(2), 0u) << "training's are kept, and samples make none";
}

INSTANTIATE_TEST_SUITE_P(OnA, CountTest, ::testing::Values("cuda:0"),
                         [](const auto&) { return "FakeGpu"; });

}  // namespace
}  // namespace dt::trainer
