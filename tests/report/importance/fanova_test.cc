#include "report/importance/fanova.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/draw.h"
#include "gtest/gtest.h"

namespace dt::report::importance {
namespace {

// Returns `count` rows, drawn evenly: numbers in [0, 1), choices by their index.
std::vector<Row> Draw(const std::vector<Factor>& factors, size_t count,
                      const std::function<double(const std::vector<double>&)>& value) {
  std::vector<Row> rows(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < factors.size(); ++k) {
      const double unit = DrawUnit({1, i, k});
      const auto choices = static_cast<double>(factors[k].choices);
      rows[i].at.push_back(choices > 0 ? std::floor(unit * choices) : unit);
    }
    rows[i].value = value(rows[i].at);
  }
  return rows;
}

double ShareOf(const Importance& importance, size_t factor) {
  for (const Effect& one : importance.single) {
    if (one.factors[0] == factor) return one.share;
  }
  return -1;
}

double PairOf(const Importance& importance, size_t first, size_t second) {
  for (const Effect& one : importance.pairs) {
    if (one.factors == std::vector<size_t>{first, second}) return one.share;
  }
  return -1;
}

TEST(ImportanceTest, SharesOfASumEqualThoseOfItsTerms) {
  const std::vector<Factor> factors(3);
  // Variances of 9/12, 1/12 and 0.
  const auto rows = Draw(factors, 400, [](const auto& at) { return 3 * at[0] + at[1]; });
  const auto found = Analyse(factors, rows);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR(ShareOf(*found, 0), 0.9, 0.04);
  EXPECT_NEAR(ShareOf(*found, 1), 0.1, 0.04);
  EXPECT_NEAR(ShareOf(*found, 2), 0.0, 0.02);
  for (const Effect& pair : found->pairs) EXPECT_LT(pair.share, 0.03);
  EXPECT_GT(found->fit, 0.95);
  EXPECT_EQ(found->single[0].factors[0], 0u) << "the largest first";
}

TEST(ImportanceTest, ChoicesCountWithoutAnOrder) {
  const std::vector<Factor> factors = {{4}, {0}};
  const double means[] = {2, 0, 2, 0};  // variance 1; the number's is one of 12/12
  const auto rows = Draw(factors, 400, [&](const auto& at) {
    return means[static_cast<size_t>(at[0])] + std::sqrt(12) / 3 * at[1];
  });
  const auto found = Analyse(factors, rows);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR(ShareOf(*found, 0), 0.9, 0.05);
  EXPECT_NEAR(ShareOf(*found, 1), 0.1, 0.05);
}

TEST(ImportanceTest, TheJointEffectOfTwoParametersIsTheirPairs) {
  const std::vector<Factor> factors(3);
  const auto rows = Draw(factors, 800, [](const auto& at) {
    return at[2] + ((at[0] < 0.5) == (at[1] < 0.5) ? 0.0 : 2.0);  // variances 1/12 and 1
  });
  const auto found = Analyse(factors, rows);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->pairs[0].factors, (std::vector<size_t>{0, 1}));
  EXPECT_GT(PairOf(*found, 0, 1), 0.75);
  EXPECT_LT(ShareOf(*found, 0), 0.1);
  EXPECT_LT(ShareOf(*found, 1), 0.1);
}

TEST(ImportanceTest, TheOrderOfTrialsChangesNothing) {
  const std::vector<Factor> factors = {{0}, {3}, {0}};
  const auto value = [](const auto& at) { return at[0] + at[1] * at[2]; };
  std::vector<Row> rows = Draw(factors, 60, value);
  const auto first = Analyse(factors, rows);
  ASSERT_TRUE(first.ok()) << first.status();
  std::reverse(rows.begin(), rows.end());
  std::rotate(rows.begin(), rows.begin() + 17, rows.end());
  const auto second = Analyse(factors, rows);
  for (size_t i = 0; i < factors.size(); ++i) {
    EXPECT_EQ(ShareOf(*first, i), ShareOf(*second, i)) << "factor " << i;
  }
  EXPECT_EQ(first->fit, second->fit);
  EXPECT_EQ(PairOf(*first, 1, 2), PairOf(*second, 1, 2));
}

TEST(ImportanceTest, SharesOfATreeAddUpToNoMoreThanAll) {
  const std::vector<Factor> factors = {{0}, {2}};
  const auto rows =
      Draw(factors, 50, [](const auto& at) { return std::sin(9 * at[0]) * (at[1] + 1); });
  const auto found = Analyse(factors, rows);
  ASSERT_TRUE(found.ok()) << found.status();
  // The two parameters and their pair explain everything.
  EXPECT_NEAR(ShareOf(*found, 0) + ShareOf(*found, 1) + PairOf(*found, 0, 1), 1, 1e-9);
}

TEST(ImportanceTest, TooFewTrialsAllowNoConclusion) {
  const std::vector<Factor> factors(5);
  const auto rows = Draw(factors, 19, [](const auto& at) { return at[0]; });
  const auto found = Analyse(factors, rows);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(found.status().message(),
            "19 trials have a value, and 20 are needed to say what 5 parameters do");
  EXPECT_TRUE(Analyse(factors, Draw(factors, 20, [](const auto& at) { return at[0]; })).ok());
  EXPECT_EQ(RowsNeeded(1), kRowsLeast);
}

TEST(ImportanceTest, ValuesThatDoNotDifferAreExplainedByNothing) {
  const std::vector<Factor> factors(2);
  const auto rows = Draw(factors, 30, [](const auto&) { return 2.5; });
  EXPECT_EQ(Analyse(factors, rows).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(ImportanceTest, ATrialThatDivergedDoesNotHideTheOthers) {
  const std::vector<Factor> factors(2);
  std::vector<Row> rows = Draw(factors, 100, [](const auto& at) { return at[0]; });
  rows[50].value = 1e9;
  const auto found = Analyse(factors, rows);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->clipped, 1u);
  EXPECT_GT(ShareOf(*found, 0), 0.7);
}

TEST(ImportanceTest, NoParameterPredictsNoise) {
  const std::vector<Factor> factors(3);
  size_t drawn = 0;
  const auto rows = Draw(factors, 100, [&](const auto&) { return DrawUnit({7, drawn++, 99}); });
  const auto found = Analyse(factors, rows);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LT(found->fit, 0.2);
}

TEST(ImportanceTest, MoreRowsThanTheBoundAreThinned) {
  const std::vector<Factor> factors(2);
  const auto rows = Draw(factors, 3000, [](const auto& at) { return 2 * at[0] + at[1]; });
  const auto found = Analyse(factors, rows);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->rows, 3000u);
  EXPECT_NEAR(ShareOf(*found, 0), 0.8, 0.04);
}

}  // namespace
}  // namespace dt::report::importance
