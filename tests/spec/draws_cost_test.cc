// draws_cost_test.cc: the cost of exclusions in a step of the core that draws further trials.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "spec/search.h"
#include "tests/spec/experiment_builder.h"

namespace dt::spec {
namespace {

void Exclude(v1::Exclusion& exclusion, const std::string& path, double value) {
  v1::Assignment& where = *exclusion.add_where();
  where.set_path(path);
  where.mutable_value()->set_number(value);
}

class DrawsCostTest : public ::testing::Test {
 protected:
  // An experiment with twenty parameters of a program.
  DrawsCostTest() {
    spec_.set_version(1);
    spec_.mutable_search()->set_method("random");
    spec_.mutable_search()->set_max_trials(10);
    spec_.mutable_base()->set_seed(7);
    spec_.mutable_base()->add_command("./train");
    for (int i = 0; i < 20; ++i) {
      v1::Parameter& parameter = *spec_.add_parameters();
      parameter.set_path(absl::StrCat("p", i));
      parameter.mutable_range()->set_max(1);
    }
  }
  std::vector<std::vector<v1::Assignment>> Known() const {
    std::vector<std::vector<v1::Assignment>> known;
    const auto trials = Expand(spec_);
    EXPECT_TRUE(trials.ok()) << trials.status();
    for (const v1::ExpandedTrial& trial : trials.value()) {
      known.emplace_back(trial.assignments().begin(), trial.assignments().end());
    }
    return known;
  }

  v1::ExperimentSpec spec_;
};

TEST_F(DrawsCostTest, ExclusionsOfOtherParametersCountInTheCostOfAnExtension) {
  // As many exclusions as a file may have, each with other parameters than all others: the bits of
  // its number choose between neighbours.
  for (int n = 0; n < limits::kExclusions; ++n) {
    v1::Exclusion& exclusion = *spec_.add_exclude();
    for (int i = 0; i < limits::kExclusionTerms / limits::kExclusions; ++i) {
      Exclude(exclusion, absl::StrCat("p", 2 * i + (n >> i & 1)), 0.5);
    }
  }
  const auto known = Known();
  ASSERT_EQ(known.size(), 10u);
  EXPECT_TRUE(ExpandFurther(spec_, known, 200).ok());
  const auto refused = ExpandFurther(spec_, known, 5000);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("raise max_trials by less"), std::string::npos);
}

TEST_F(DrawsCostTest, AThousandExclusionsOfTheSameParametersAreLookedForAtOnce) {
  for (int n = 0; n < limits::kExclusions; ++n) {
    v1::Exclusion& exclusion = *spec_.add_exclude();
    for (const char* path : {"p1", "p0"}) Exclude(exclusion, path, n / 1000.0);
  }
  EXPECT_TRUE(ExpandFurther(spec_, Known(), 5000).ok());
}

TEST_F(DrawsCostTest, AsManyParametersAsThereMayBeCountToo) {
  for (int i = 20; i < 64; ++i) {
    v1::Parameter& parameter = *spec_.add_parameters();
    parameter.set_path(absl::StrCat("p", i));
    parameter.mutable_range()->set_max(1);
  }
  const auto known = Known();
  EXPECT_TRUE(ExpandFurther(spec_, known, 2000).ok());
  EXPECT_EQ(ExpandFurther(spec_, known, 10'000).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace dt::spec
