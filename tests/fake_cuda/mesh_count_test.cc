// mesh_count_test.cc: each way of sharing a model, with the shapes of GPT-2 XL on eight GPUs. NCCL
// is called in one order, the host waits for nothing within a step, the number of launches is
// bounded, and tensors take the memory that plan/ predicts. Nothing is computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plan/cost.h"
#include "tests/fake_cuda/fake_ranks.h"
#include "tests/worker/trainer/small_trial.h"

namespace dt::fake_cuda {
namespace {

constexpr int kSteps = 8;
// The first steps make lasting things: memory, plans, and DDP's final buckets.
constexpr size_t kWarmSteps = 4;

// GPT-2 XL.
constexpr int kLayers = 48, kWidth = 1600, kHeads = 25, kVocabulary = 50257, kColumns = 50304,
              kLength = 1024;

// At steps that make ranks equal, ranks that step alone agree on whether rank 0 saves or leaves. A
// row's gather of two numbers tells that: a copy to the device and one back, each with its wait.
constexpr size_t kWordOfSaving = 4;

struct Case {
  const char* name;
  nlohmann::json parallel;
  size_t work;  // upper bound, for a step of a rank
  int ranks = 8;
  int micro_batches = 1;  // of a data rank, one sequence each
  int heads = kHeads;
  int length = kLength;
  int columns = kColumns;
  size_t waits_of_sync = 0;  // at steps that make ranks equal
  // The allocator's blocks are up to 2 MiB larger than the request.
  double held_least = 1, held_most = 1.04;  // relative to the predicted memory
  double peak_least = 0.9, peak_most = 1.1;

  template <typename T>
  T Or(const char* field, T otherwise) const {
    return parallel.value(field, otherwise);
  }
  int tensor() const { return Or("tensor", 1); }
  int stages() const { return Or("pipeline", 1); }
  int sync_every() const { return Or("sync_every", 0); }
  // Returns the group of ranks that hold the same: a stage, or a layer, since of the undivided
  // pieces on each of these a share may have more than another. The fake itself checks that all
  // ranks of a communicator make the same calls, and notes a fault if they do not.
  int GroupOf(int rank) const { return tensor() > 1 ? rank / tensor() : rank * stages() / ranks; }
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

plan::ModelSize SizeOf(const Case& one) {
  return {.layers = kLayers,
          .width = kWidth,
          .feed_forward = 4 * kWidth,
          .learned_positions = kLength,
          .rows = one.columns,
          .bias = true,
          .tied_head = true,
          .head_bias = false,
          .final_norm = true};
}

plan::StepSize StepOf(const Case& one) {
  plan::StepSize step{.sequences = 1, .micro_steps = one.micro_batches, .seq_len = one.length};
  step.half = step.cuda = true;
  step.tensor = one.tensor();
  step.stages = one.stages();
  step.ranks = one.ranks / (one.tensor() * one.stages());
  step.sequence = one.Or("sequence", true);
  const std::string schedule = one.Or<std::string>("schedule", "1f1b");
  step.chunks_each = schedule == "interleaved" ? one.Or("interleave", 2) : 1;
  step.forward_first = schedule == "gpipe";
  step.shard = one.Or("shard", 1);
  step.sync_every = std::max(1, one.sync_every());
  const std::string strategy = one.Or<std::string>("strategy", "ddp");
  const auto word =
      std::find(std::begin(plan::kSharingWords), std::end(plan::kSharingWords), strategy);
  step.sharing = static_cast<plan::Sharing>(word - std::begin(plan::kSharingWords));
  return step;
}

class MeshCountTest : public ::testing::TestWithParam<Case> {
 protected:
  std::vector<RankCounts> Train() {
    const Case& one = GetParam();
    testing::WriteShard(folder_, "train.bin", 2 * kSteps * 64 * kLength + 1);
    testing::WriteShard(folder_, "val.bin", 8 * kLength + 1);
    nlohmann::json spec = testing::SmallSpec();
    spec["model"] = {{"preset", "gpt2"},          {"n_layer", kLayers},
                     {"n_head", one.heads},       {"n_embd", kWidth},
                     {"n_ff", 4 * kWidth},        {"n_positions", kLength},
                     {"vocab_size", kVocabulary}, {"vocab_pad", one.columns}};
    const int data_ranks = one.ranks / (one.tensor() * one.stages());
    spec["train"] = {{"batch_size", 1},
                     {"seq_len", one.length},
                     {"global_batch_size", std::to_string(data_ranks * one.micro_batches)},
                     {"max_steps", std::to_string(kSteps)},
                     {"grad_clip", 1.0}};
    spec["parallel"] = one.parallel;
    spec["precision"]["compute"] = "bf16";
    spec["logging"] = {{"every", "1000"}};
    // Without a batch, a rank has nothing to compute with others, nor to pass on.
    spec["eval"] = {{"every", "0"}, {"batches", data_ranks}};
    frames::Start start;
    start.token = "token";
    start.experiment = start.trial = start.attempt = 1;
    start.spec = testing::Resolved(spec);
    start.data_root = folder_.path();
    return TrainOnFakeRanks(start, one.ranks, one.sync_every());
  }

 private:
  testing::TempFolder folder_;
};

TEST_P(MeshCountTest, CallsNcclInOneOrderAndNeverWaitsAndTakesTheMemoryForeseen) {
  const Case& one = GetParam();
  const std::vector<RankCounts> ranks = Train();
  std::map<int, std::set<std::vector<std::string>>> orders;  // key: group
  size_t most = 0, calls = 0;                                // in a step
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankCounts& counts = ranks[rank];
    SCOPED_TRACE("rank " + std::to_string(rank));
    ASSERT_EQ(counts.cause, "finished") << counts.message;
    EXPECT_TRUE(counts.faults.empty()) << counts.faults[0];
    orders[one.GroupOf(static_cast<int>(rank))].insert(counts.collectives);
    ASSERT_GE(counts.steps.size(), size_t{kSteps - 1});
    for (size_t step = kWarmSteps; step < kSteps - 1; ++step) {
      SCOPED_TRACE("step " + std::to_string(step + 1));
      const bool equal = one.sync_every() > 0 && (step + 1) % one.sync_every() == 0;
      const std::vector<std::string>& waits = counts.steps[step].waits;
      EXPECT_EQ(waits.size(), equal ? one.waits_of_sync : 0) << ::testing::PrintToString(waits);
      EXPECT_EQ(counts.steps[step].allocations, 0u);
      if (one.sync_every() == 0) {
        EXPECT_EQ(counts.steps[step].collectives, counts.steps[kWarmSteps].collectives);
      }
      most = std::max(most, counts.steps[step].work);
      calls = std::max(calls, counts.steps[step].collectives.size());
    }
  }
  for (const auto& [group, of_ranks] : orders) {
    EXPECT_EQ(of_ranks.size(), 1u) << "group " << group;
  }
  EXPECT_LE(most, one.work);
  const double held = plan::HeldBytes(SizeOf(one), StepOf(one));
  const double peak = plan::TensorBytes(SizeOf(one), StepOf(one));
  const nlohmann::json& row = ranks[0].last_row;
  const double of_held = row.at("tensor_held_bytes").get<double>() / held;
  EXPECT_GE(of_held, one.held_least);
  EXPECT_LE(of_held, one.held_most);
  const double part = row.at("tensor_peak_bytes").get<double>() / peak;
  EXPECT_GE(part, one.peak_least);
  EXPECT_LE(part, one.peak_most);
  RecordProperty("work", std::to_string(most));
  RecordProperty("calls", std::to_string(calls));
  for (const char* field : {"tensor_held_bytes", "tensor_peak_bytes"}) {
    RecordProperty(field, row.at(field).dump());
  }
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

// 25 heads need 5 ranks or one. Then tokens, and rows of a divided vocabulary, must be multiples of
// 5. A step alone takes 3,500 launches, 70 for each layer. DDP also copies gradients into buckets,
// zero3 copies parameters out of what it gathers, and a mean of parameters and moments takes each
// three times.
INSTANTIATE_TEST_SUITE_P(
    Diagonal, MeshCountTest,
    ::testing::Values(
        Case{.name = "Ddp", .parallel = {{"strategy", "ddp"}}, .work = 3850},
        Case{
            .name = "Zero2", .parallel = {{"strategy", "zero2"}}, .work = 6800, .micro_batches = 2},
        Case{.name = "Zero3", .parallel = {{"strategy", "zero3"}}, .work = 3820},
        Case{.name = "LocalSgd",
             .parallel = {{"strategy", "local_sgd"}, {"sync_every", 2}},
             .work = 6350,
             .waits_of_sync = kWordOfSaving},
        Case{.name = "Tensor",
             .parallel = {{"tensor", 5}},
             .work = 3220,
             .ranks = 5,
             .length = 1020,
             .columns = 50305},
        Case{.name = "Interleaved",
             .parallel = {{"pipeline", 4}, {"schedule", "interleaved"}, {"strategy", "zero1"}},
             .work = 6850,
             .micro_batches = 8}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Rest, MeshCountTest,
    ::testing::Values(
        Case{.name = "Zero1", .parallel = {{"strategy", "zero1"}}, .work = 3620},
        Case{.name = "Hsdp", .parallel = {{"strategy", "hsdp"}, {"shard", 4}}, .work = 3840},
        // After the last step, which is followed by a mean, no message is on its way.
        Case{.name = "Gossip",
             .parallel = {{"strategy", "gossip"}, {"sync_every", 2}},
             .work = 6950,
             .waits_of_sync = kWordOfSaving,
             .held_least = 4.0 / 6,
             .held_most = 4.16 / 6},
        Case{.name = "TensorWithAllTokens",
             .parallel = {{"tensor", 5}, {"sequence", false}},
             .work = 3310,
             .ranks = 5},
        Case{.name = "TensorTimesZero1",
             .parallel = {{"tensor", 4}, {"strategy", "zero1"}},
             .work = 3930,
             .heads = 20},
        // The last stage has the peak within a step, with the head's gradients of each micro-batch,
        // and the plan predicts it. The first stage has more layers, and holds more between steps.
        Case{.name = "Gpipe",
             .parallel = {{"pipeline", 8}, {"schedule", "gpipe"}},
             .work = 3620,
             .micro_batches = 8,
             .held_most = 1.4},
        Case{.name = "OneForwardOneBackward",
             .parallel = {{"pipeline", 8}},
             .work = 3620,
             .micro_batches = 8}),
    NameOf);

}  // namespace
}  // namespace dt::fake_cuda
