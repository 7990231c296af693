// expand_test.cc: the order, the exclusions and the bounds of grids.
#include <gtest/gtest.h>

#include "common/limits.h"
#include "spec/spec.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

std::vector<std::string> TextsOfTrials(const v1::ExperimentSpec& spec) {
  const auto trials = Expand(spec);
  if (!trials.ok()) return {std::string(trials.status().message())};
  std::vector<std::string> out;
  for (const v1::ExpandedTrial& trial : *trials) {
    EXPECT_EQ(trial.trial(), out.size() + 1);
    std::string text;
    for (const v1::Assignment& assignment : trial.assignments()) {
      text += (text.empty() ? "" : " ") + ValueText(assignment.value());
    }
    out.push_back(text);
  }
  return out;
}

TEST(ExpandTest, WithoutParametersThereIsOneTrial) {
  EXPECT_EQ(TextsOfTrials(ExperimentBuilder().spec()), std::vector<std::string>{""});
}

TEST(ExpandTest, TheFirstParameterVariesSlowest) {
  ExperimentBuilder builder;
  builder.Sweep("train.batch_size", {"8", "16"}).Sweep("train.seq_len", {"64", "128", "256"});
  EXPECT_EQ(TextsOfTrials(builder.spec()),
            (std::vector<std::string>{"8 64", "8 128", "8 256", "16 64", "16 128", "16 256"}));
}

TEST(ExpandTest, ExclusionsMatchPartialCombinationsAndTrialsAreNumberedWithoutGaps) {
  ExperimentBuilder builder;
  builder.Sweep("train.batch_size", {"8", "16"})
      .Sweep("train.seq_len", {"64", "128"})
      .Exclude({{"train.batch_size", "16"}, {"train.seq_len", "128"}});
  EXPECT_EQ(TextsOfTrials(builder.spec()), (std::vector<std::string>{"8 64", "8 128", "16 64"}));
  builder.Exclude({{"train.seq_len", "64"}});
  EXPECT_EQ(TextsOfTrials(builder.spec()), std::vector<std::string>{"8 128"});
  builder.Exclude({{"train.batch_size", "8"}});
  EXPECT_FALSE(Expand(builder.spec()).ok());
}

TEST(ExpandTest, ValuesAreComparedByMeaningNotBySpelling) {
  ExperimentBuilder builder;
  builder.Sweep("optimizer.lr", {"1e-3", "1"}).Exclude({{"optimizer.lr", "0.001"}});
  EXPECT_EQ(TextsOfTrials(builder.spec()), std::vector<std::string>{"1"});
  // Another client may write an integer for a number.
  v1::ExperimentSpec spec = builder.spec();
  spec.mutable_exclude(0)->mutable_where(0)->mutable_value()->set_integer(1);
  EXPECT_EQ(TextsOfTrials(spec), std::vector<std::string>{"0.001"});
}

TEST(ExpandTest, TenThousandTrialsAreTheMost) {
  ExperimentBuilder builder;
  std::vector<std::string> hundred, more;
  for (int i = 1; i <= 100; ++i) hundred.push_back(std::to_string(i));
  more = hundred;
  more.push_back("101");
  builder.Sweep("train.batch_size", hundred).Sweep("model.n_layer", hundred);
  EXPECT_EQ(Expand(builder.spec())->size(), limits::kTrialsPerExperiment);
  ExperimentBuilder above;
  above.Sweep("train.batch_size", hundred).Sweep("model.n_layer", more);
  EXPECT_EQ(Expand(above.spec()).status().code(), absl::StatusCode::kInvalidArgument);
  // Sizes whose product overflows are refused as well, at once.
  ExperimentBuilder huge;
  for (const Field& field : FieldTable()) {
    if (field.type == FieldType::kInteger && field.max > 1000 && field.sweepable &&
        field.use != Use::kProgram) {
      huge.Sweep(field.path, hundred);
    }
  }
  EXPECT_FALSE(Expand(huge.spec()).ok());
}

}  // namespace
}  // namespace dt::spec
