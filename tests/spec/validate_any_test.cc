// validate_any_test.cc: messages that no file can produce: lists and numbers of any size.
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "spec/spec.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

using Strings = std::vector<std::string>;

// Returns "path code" for each issue.
Strings Told(const v1::ExperimentSpec& spec) {
  Strings told;
  for (const Issue& issue : Validate(spec)) {
    told.push_back(absl::StrCat(issue.path, " ", issue.code));
  }
  return told;
}

TEST(ValidateAnyTest, ListsAreCountedBeforeTheyAreWalked) {
  ExperimentBuilder values, seeds, terms, included, words;
  for (int i = 0; i < 20'000; ++i) {
    if (i == 0) values.Sweep("optimizer.lr", {});
    values.spec().mutable_parameters(0)->add_values()->set_number(i);
    seeds.spec().add_seeds(i);
  }
  EXPECT_EQ(Told(values.spec()), Strings{"parameters.optimizer.lr too_many"});
  EXPECT_EQ(Told(seeds.spec()), Strings{"seeds too_many"});
  for (int e = 0; e < 1000; ++e) {
    terms.Exclude(ExperimentBuilder::Where(20, {"train.batch_size", "8"}));
  }
  EXPECT_EQ(Told(terms.spec()), Strings{"exclude too_many"});
  for (int i = 0; i < 100; ++i) included.spec().add_include();
  for (int i = 0; i < 100; ++i) included.spec().mutable_include(99)->add_values()->set_path("x");
  EXPECT_EQ(Told(included.spec()), Strings{"include[99] too_many"});
  for (int i = 0; i < 1000; ++i) words.spec().mutable_base()->add_command("x");
  EXPECT_EQ(Told(words.spec()), Strings{"command too_many"});
}

TEST(ValidateAnyTest, RulesOverSeveralFieldsUseOnlyValuesInRange) {
  ExperimentBuilder builder;
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  v1::Spec& base = *builder.spec().mutable_base();
  base.mutable_parallel()->set_microbatches(kMost);
  base.mutable_parallel()->set_tensor(kMost);
  base.mutable_parallel()->set_pipeline(kMost);
  base.mutable_train()->set_batch_size(kMost);
  base.mutable_resources()->set_gpus(kMost);
  EXPECT_EQ(Told(builder.spec()),
            (Strings{"resources.gpus out_of_range", "train.batch_size out_of_range",
                     "parallel.tensor out_of_range", "parallel.pipeline out_of_range"}));
  // Each number is in range; together they are more than a batch may have.
  ExperimentBuilder together;
  together.Set("parallel.microbatches", "2147483647").Set("train.batch_size", "1048576");
  together.Set("train.seq_len", "1").Set("resources.gpus", "16384");
  EXPECT_EQ(Told(together.spec()), Strings{"parallel.microbatches conflict"});
}

TEST(ValidateAnyTest, AfterItsCallersDeadlineItReportsThat) {
  ExperimentBuilder builder;
  std::vector<std::string> values;
  for (int i = 1; i <= 300; ++i) values.push_back(std::to_string(i));
  builder.Sweep("train.batch_size", values).Sweep("train.hash_every", values);
  int asked = 0;
  const std::vector<Issue> issues = Validate(builder.spec(), [&asked] { return ++asked < 3; });
  ASSERT_FALSE(issues.empty());
  EXPECT_EQ(issues.back().code, "out_of_time");
  EXPECT_LT(asked, 10);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Expand(builder.spec(), [] { return false; }).status()));
}

}  // namespace
}  // namespace dt::spec
