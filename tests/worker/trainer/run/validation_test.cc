// validation_test.cc: equal trainings have the same validation loss, whatever the batch, the number
// of ranks and the cut of the model.
#include <gtest/gtest.h>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

class ValidationTest : public AttemptTest {
 protected:
  ValidationTest() {
    // Not multiples of any size in use.
    WriteShard(folder_, "data/val_0.bin", 1111);
    WriteShard(folder_, "data/val_1.bin", 457);
    spec_["data"]["val"] = "val_?.bin";
    spec_["train"]["max_steps"] = "3";
    spec_["train"]["global_batch_size"] = "12";
    spec_["eval"] = {{"every", "0"}, {"batches", 0}, {"tokens", "1500"}};
  }
  frames::Eval Validated(int ranks, const nlohmann::json& spec) {
    const Told told = TrainerGang(ranks).Run(Start(spec));
    ExpectFinished(told);
    return told.evals.back();
  }
  nlohmann::json spec_ = SmallSpec();
};

TEST_F(ValidationTest, TheBatchAndTheRanksChangeNothing) {
  spec_["train"]["batch_size"] = 12;
  const frames::Eval whole = Validated(1, spec_);
  EXPECT_EQ(whole.tokens, 1500);
  EXPECT_NEAR(whole.perplexity_mean, std::exp(whole.loss), 1e-9);
  for (const auto& [ranks, batch] : {std::pair(1, 1), {1, 4}, {2, 3}, {3, 2}}) {
    spec_["train"]["batch_size"] = batch;
    const frames::Eval eval = Validated(ranks, spec_);
    EXPECT_EQ(eval.tokens, whole.tokens);
    EXPECT_NEAR(eval.loss, whole.loss, 2e-6) << ranks << " ranks, batches of " << batch;
  }
}

TEST_F(ValidationTest, RanksThatShareLayersOrStateGetTheSameLoss) {
  spec_["train"]["batch_size"] = 3;
  const frames::Eval whole = Validated(1, spec_);
  for (const nlohmann::json& parallel : {nlohmann::json{{"tensor", 2}},
                                         {{"tensor", 2}, {"sequence", false}},
                                         {{"pipeline", 2}},
                                         {{"strategy", "zero3"}}}) {
    nlohmann::json spec = spec_;
    spec["parallel"].update(parallel);
    const frames::Eval eval = Validated(2, spec);
    EXPECT_EQ(eval.tokens, whole.tokens) << parallel;
    EXPECT_NEAR(eval.loss, whole.loss, 2e-5) << parallel;
  }
}

TEST_F(ValidationTest, AnotherLengthOfSequencesPredictsTheSameTokens) {
  spec_["train"]["batch_size"] = 6;
  for (const int length : {32, 16, 7}) {
    spec_["train"]["seq_len"] = length;
    EXPECT_EQ(Validated(1, spec_).tokens, 1500) << length;
  }
}

TEST_F(ValidationTest, ASetOfFewTokensIsReadToItsEnd) {
  WriteShard(folder_, "data/val_1.bin", 5);
  spec_["data"]["val"] = "val_1.bin";
  EXPECT_EQ(Validated(1, spec_).tokens, 4) << "fewer than a sequence has";
}

TEST_F(ValidationTest, MicroBatchesAreCountedIfTheFileSetsThem) {
  spec_["eval"]["batches"] = 2;
  for (const int batch : {4, 6}) {
    spec_["train"]["batch_size"] = batch;
    EXPECT_EQ(Validated(1, spec_).tokens, 2 * batch * 32);
  }
}

}  // namespace
}  // namespace dt::testing
