// model_ranks_test.cc: ranks that share one model, cut in layers or in stages.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/spec.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

TEST(ModelRanksTest, ImpossibleCutsOfLayersAreRefusedNamingPossibleOnes) {
  const auto said = [](const std::map<std::string, std::string>& fields) {
    ExperimentBuilder builder;
    builder.Set("resources.gpus", "8").Set("parallel.tensor", "2");
    for (const auto& [path, text] : fields) builder.Set(path, text);
    const std::vector<Issue> issues = Validate(builder.spec());
    return issues.size() == 1 ? issues[0].message + "; " + issues[0].hint
                              : std::to_string(issues.size()) + " issues";
  };
  EXPECT_EQ(said({{"train.seq_len", "64"}}), "0 issues");
  EXPECT_EQ(
      said({{"resources.gpus", "5"}}),
      "resources.gpus 5 is not a multiple of parallel.tensor 2; set resources.gpus to 4 or 6");
  EXPECT_EQ(said({{"resources.gpus", "3"},
                  {"parallel.tensor", "3"},
                  {"model.n_head", "4"},
                  {"model.n_embd", "64"}}),
            "parallel.tensor 3 does not divide model.n_head 4; set parallel.tensor to 1");
  EXPECT_EQ(said({{"parallel.tensor", "8"}, {"model.n_head", "4"}, {"model.n_embd", "64"}}),
            "parallel.tensor 8 does not divide model.n_head 4; set model.n_head to 8, or "
            "parallel.tensor to 1, 2 or 4");
  EXPECT_EQ(said({{"model.n_ff", "131"}}),
            "parallel.tensor 2 does not divide model.n_ff 131; set model.n_ff to 130 or 132, or "
            "parallel.tensor to 1");
  EXPECT_EQ(said({{"train.seq_len", "101"}}),
            "train.seq_len 101 is not a multiple of parallel.tensor 2; set train.seq_len to 100 or "
            "102, or parallel.sequence to false");
  EXPECT_EQ(said({{"train.seq_len", "101"}, {"parallel.sequence", "false"}}), "0 issues");
  EXPECT_EQ(said({{"parallel.sequence", "false"}, {"model.dropout", "0.1"}}),
            "model.dropout with parallel.sequence false would differ among the ranks of one layer; "
            "leave parallel.sequence out");
  EXPECT_EQ(said({{"parallel.strategy", "local_sgd"}}),
            "parallel.strategy local_sgd is for data ranks only; parallel.tensor is 2; use ddp");
  EXPECT_EQ(said({{"parallel.compression", "powersgd"}}),
            "parallel.compression powersgd is for data ranks only; parallel.tensor is 2; use "
            "precision.reduce bf16");
  EXPECT_EQ(said({{"train.batch_size", "4"}, {"train.global_batch_size", "24"}}),
            "train.global_batch_size 24 is not a multiple of train.batch_size 4 × the 4 data ranks "
            "(resources.gpus 8 ÷ parallel.tensor 2); use 16 or 32");
  EXPECT_EQ(said({{"parallel.strategy", "hsdp"}, {"parallel.shard", "3"}}),
            "parallel.shard 3 does not divide the 4 data ranks (resources.gpus 8 ÷ parallel.tensor "
            "2); use 2 or 4");
}

TEST(ModelRanksTest, ImpossibleStagesAreRefusedNamingPossibleOnes) {
  const auto said = [](const std::map<std::string, std::string>& fields) {
    ExperimentBuilder builder;
    builder.Set("resources.gpus", "8").Set("parallel.pipeline", "4").Set("model.n_layer", "12");
    for (const auto& [path, text] : fields) builder.Set(path, text);
    const std::vector<Issue> issues = Validate(builder.spec());
    return issues.size() == 1 ? issues[0].message + "; " + issues[0].hint
                              : std::to_string(issues.size()) + " issues";
  };
  EXPECT_EQ(said({}), "0 issues");
  EXPECT_EQ(
      said({{"resources.gpus", "6"}}),
      "resources.gpus 6 is not a multiple of parallel.pipeline 4; set resources.gpus to 4 or 8");
  EXPECT_EQ(said({{"resources.gpus", "12"}, {"parallel.tensor", "2"}}),
            "resources.gpus 12 is not a multiple of parallel.tensor 2 × parallel.pipeline 4; set "
            "resources.gpus to 8 or "
            "16");
  EXPECT_EQ(said({{"model.n_layer", "3"}}),
            "parallel.pipeline 4 is more than the 3 layers of the model; each stage needs one at "
            "least: lower it");
  const std::pair<std::string, std::string> interleaved = {"parallel.schedule", "interleaved"};
  EXPECT_EQ(said({interleaved, {"parallel.microbatches", "8"}}), "0 issues");
  EXPECT_EQ(said({interleaved, {"parallel.microbatches", "8"}, {"parallel.interleave", "4"}}),
            "parallel.pipeline 4 × parallel.interleave 4 is more than the 12 layers of the model; "
            "each stage needs one at least: lower it");
  EXPECT_EQ(
      said({interleaved, {"parallel.microbatches", "6"}}),
      "parallel.schedule interleaved needs micro-batches in multiples of parallel.pipeline 4, "
      "not 6; use 4 or 8 (parallel.microbatches)");
  EXPECT_EQ(said({{"parallel.interleave", "3"}}),
            "parallel.interleave 3 is for interleaved; parallel.schedule is 1f1b; leave it out, or "
            "set parallel.schedule to interleaved");
  EXPECT_EQ(said({{"parallel.microbatches", "8"}, {"train.global_batch_size", "64"}}),
            "parallel.microbatches 8 and train.global_batch_size 64 are two ways to say one thing; "
            "keep one");
  EXPECT_EQ(said({{"parallel.strategy", "local_sgd"}}),
            "parallel.strategy local_sgd is for data ranks only; parallel.pipeline is 4; use ddp");
  EXPECT_EQ(said({{"parallel.compression", "topk"}}),
            "parallel.compression topk is for data ranks only; parallel.pipeline is 4; use "
            "precision.reduce bf16");
  EXPECT_EQ(said({{"train.batch_size", "4"}, {"train.global_batch_size", "12"}}),
            "train.global_batch_size 12 is not a multiple of train.batch_size 4 × the 2 data ranks "
            "(resources.gpus 8 ÷ parallel.pipeline 4); use 8 or 16");
}

TEST(ModelRanksTest, MicroBatchesAreDealtBySpeedOnlyIfASlowRankDelaysNoOther) {
  const auto said = [](const std::map<std::string, std::string>& fields) {
    ExperimentBuilder builder;
    builder.Set("resources.gpus", "2").Set("parallel.balance", "auto");
    builder.Set("train.batch_size", "4").Set("train.global_batch_size", "32");
    for (const auto& [path, text] : fields) builder.Set(path, text);
    const std::vector<Issue> issues = Validate(builder.spec());
    return issues.size() == 1 ? issues[0].path + ": " + issues[0].message + "; " + issues[0].hint
                              : std::to_string(issues.size()) + " issues";
  };
  EXPECT_EQ(said({}), "0 issues");
  EXPECT_EQ(said({{"parallel.strategy", "zero1"}}), "0 issues");
  EXPECT_EQ(said({{"resources.gpus", "1"}, {"train.global_batch_size", "4"}}), "0 issues")
      << "alone it has all";
  EXPECT_EQ(said({{"parallel.strategy", "zero2"}}),
            "parallel.balance: parallel.balance auto gives slow ranks fewer micro-batches, and "
            "under parallel.strategy zero2 ranks wait for each other in every one; use ddp or "
            "zero1");
  EXPECT_EQ(said({{"parallel.strategy", "local_sgd"}}),
            "parallel.balance: parallel.balance auto deals the micro-batches of a step that ranks "
            "take together, and under parallel.strategy local_sgd each takes its own; leave it "
            "out");
  EXPECT_EQ(said({{"parallel.pipeline", "2"}}),
            "parallel.balance: parallel.balance auto deals micro-batches to ranks that hold the "
            "full model; parallel.pipeline is 2; leave it out");
  EXPECT_EQ(said({{"parallel.tensor", "2"}}),
            "parallel.balance: parallel.balance auto deals micro-batches to ranks that hold the "
            "full model; parallel.tensor is 2; leave it out");
  EXPECT_EQ(said({{"train.global_batch_size", "8"}}),
            "parallel.balance: parallel.balance auto has nothing to distribute: each data rank has "
            "one micro-batch in a step; raise train.global_batch_size, or lower train.batch_size");
}

}  // namespace
}  // namespace dt::spec
