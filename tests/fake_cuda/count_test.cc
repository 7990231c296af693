// count_test.cc: the number and size of a step's calls to a GPU, and that the host never waits for
// it. LibTorch's own CUDA code runs here; only the kernels do nothing.
#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>

#include "plan/cost.h"
#include "tests/fake_cuda/counted.h"
#include "tests/gpu/device_fixture.h"

namespace dt::trainer {
namespace {

using fake_cuda::Call;
using fake_cuda::CountIf;
using fake_cuda::IsWork;
using fake_cuda::Kind;
using fake_cuda::TakeCalls;
using Alone = AttemptOptions::Alone;

constexpr int kSteps = 8;
// The first steps make lasting things: memory, plans, and with DDP the final buckets.
constexpr int kWarmSteps = 4;

// GPT-2 124M.
constexpr int kLayers = 12, kWidth = 768, kColumns = 50304, kLength = 1024;

struct Counted {
  Told told;
  std::vector<std::vector<Call>> steps;  // the steps between the warm ones and the last
  std::vector<Call> rest;                // before and after
};

class CountTest : public DeviceTest {
 protected:
  Counted Count(nlohmann::json spec, Alone alone) {
    spec["train"]["max_steps"] = std::to_string(kSteps);
    if (!spec.contains("logging")) spec["logging"] = {{"every", "1000"}};
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

  // Expects that in every step the host waits only for `waits`, and asks the driver for no memory.
  static void ExpectSteady(const Counted& counted, size_t waits = 0) {
    for (const std::vector<Call>& step : counted.steps) {
      for (const Call& call : step) {
        EXPECT_FALSE(call.pageable) << call.what << " of " << call.bytes << " bytes";
        EXPECT_NE(call.kind, Kind::kAllocation) << call.what << " of " << call.bytes << " bytes";
        EXPECT_NE(call.kind, Kind::kFault) << call.what;
        EXPECT_FALSE(call.kind == Kind::kPlan && call.what == "made");
      }
      EXPECT_EQ(CountOf(step, Kind::kWait), waits);
    }
    EXPECT_EQ(CountOf(counted.rest, Kind::kFault), 0u);
  }

  size_t WorkOfAStep(const nlohmann::json& spec, Alone alone) {
    const Counted counted = Count(spec, alone);
    ExpectSteady(counted);
    size_t most = 0;
    for (const auto& step : counted.steps) most = std::max(most, CountIf(step, IsWork));
    return most;
  }
  // A step's work is an exact amount for each layer, and a rest.
  void ExpectWork(nlohmann::json spec, Alone alone, size_t of_layer, size_t rest_max) {
    const size_t layers = spec["model"]["n_layer"];
    EXPECT_LE(WorkOfAStep(spec, alone), layers * of_layer + rest_max);
    size_t work[2];
    for (const int more : {0, 1}) {
      spec["model"]["n_layer"] = 2 + more;
      work[more] = WorkOfAStep(spec, alone);
    }
    EXPECT_EQ(work[1] - work[0], of_layer);
  }

  static nlohmann::json Tiny() {
    nlohmann::json spec = SmallSpec();
    spec["precision"]["compute"] = "bf16";
    return spec;
  }
  nlohmann::json Gpt2(int batch) {
    testing::WriteShard(folder_, "train.bin", 64 * kLength * 2 + 1);
    testing::WriteShard(folder_, "val.bin", kLength * batch + 1);
    nlohmann::json spec = SmallSpec();
    spec["model"] = {{"preset", "gpt2"},    {"n_layer", kLayers},   {"n_head", 12},
                     {"n_embd", kWidth},    {"n_ff", 4 * kWidth},   {"n_positions", kLength},
                     {"vocab_size", 50257}, {"vocab_pad", kColumns}};
    spec["train"]["batch_size"] = batch;
    spec["train"]["seq_len"] = kLength;
    spec["parallel"] = {{"bucket_mb", 25}};
    spec["precision"]["compute"] = "bf16";
    return spec;
  }
};

// A layer, forward and backward: 41 kernels, 12 products and 2 plans of attention. The rest: copies
// of the batch, embedding, 9 for each chunk of the head, norm, AdamW and guards, together 60.
TEST_P(CountTest, AStepOfASmallModelAsksForFewKernelsAndNeverWaits) {
  ExpectWork(Tiny(), Alone::kPlain, 55, 70);
}

// In addition, a layer has 4 fills, for sums that several blocks share. The head has 7 chunks, and
// norm and AdamW go over 124M parameters in several launches; together 153.
TEST_P(CountTest, AStepOfGpt2AsksForFewKernelsAndNeverWaits) {
  ExpectWork(Gpt2(64), Alone::kPlain, 59, 165);
}

// In addition, a layer has 12 gradients to copy into buckets, and a bucket to divide. The head has
// one chunk; together 105.
TEST_P(CountTest, AStepWithDataParallelismNeverWaitsEither) {
  ExpectWork(Gpt2(4), Alone::kDataParallel, 72, 115);
}

// The loss, the norm and the counts of left-out gradients are copied, with one wait for all.
TEST_P(CountTest, G10ALoggedStepWaitsOnceForAllItsNumbers) {
  nlohmann::json spec = Tiny();
  spec["logging"] = {{"every", "1"}};
  ExpectSteady(Count(spec, Alone::kPlain), 1);
}

TEST_P(CountTest, MemoryOfGpt2FollowsFromItsParametersAndTokens) {
  for (const int batch : {4, 64}) {
    c10::cuda::CUDACachingAllocator::emptyCache();
    const Counted counted = Count(Gpt2(batch), Alone::kPlain);
    const double whole = plan::TensorBytes({.layers = kLayers,
                                            .width = kWidth,
                                            .feed_forward = 4 * kWidth,
                                            .learned_positions = kLength,
                                            .rows = kColumns,
                                            .bias = true,
                                            .tied_head = true,
                                            .head_bias = false,
                                            .final_norm = true},
                                           {.sequences = batch,
                                            .seq_len = kLength,
                                            .half = true,
                                            .dropout = false,
                                            .keeps_inputs_alone = false,
                                            .ranks = 1,
                                            .cuda = true});
    const double peak = counted.told.rows.at(0).at("memory_peak_bytes");
    EXPECT_LE(peak, 1.2 * whole) << "batch " << batch;
    EXPECT_GE(peak, 0.9 * whole) << "batch " << batch;
  }
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
