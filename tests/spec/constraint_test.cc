#include "spec/constraint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

namespace dt::spec {
namespace {

Constraint ReadConstraint(const std::string& text) {
  auto read = ParseConstraint(text);
  const auto* fault = std::get_if<ConstraintFault>(&read);
  EXPECT_EQ(fault, nullptr) << text << ": " << (fault != nullptr ? fault->message : "");
  return fault != nullptr ? Constraint() : std::get<Constraint>(read);
}

TEST(ConstraintTest, ABoundIsInTheUnitOfItsMetric) {
  const std::vector<std::pair<std::string, double>> bounds = {
      {"latency_ms <= 20", 20},        {"latency_ms <= 20ms", 20},
      {"latency_ms <= 1s", 1000},      {"latency <= 20 ms", 0.02},
      {"training_seconds < 2h", 7200}, {"memory_peak_bytes<70GiB", 70.0 * 1024 * 1024 * 1024},
      {"memory_gb < 500MB", 0.5},      {"accuracy >= 90%", 0.9},
      {"accuracy_pct >= 90%", 90},     {"model_parameters < 10M", 1e7},
      {"drift > -1.5e-3", -1.5e-3},    {"top-5 acc (%) >= 90", 90}};
  for (const auto& [text, bound] : bounds) {
    EXPECT_NEAR(ReadConstraint(text).bound, bound, 1e-9 * std::abs(bound)) << text;
  }
  EXPECT_EQ(ReadConstraint(" latency_ms <= 20 ").metric, "latency_ms");
  EXPECT_EQ(ReadConstraint("top-5 acc (%) >= 90").metric, "top-5 acc (%)");
}

TEST(ConstraintTest, AFaultNamesThePlaceAndTheFix) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"latency_ms", "11: it has no comparison; write it as \"latency_ms <= 20\""},
      {"latency_ms = 20", "12: '=' is no limit; write <= or >="},
      {"latency_ms =< 20", "12: '=' stands before '<' or '>'; write <= or >="},
      {"<= 20", "1: no metric stands before the comparison; write it as \"latency_ms <= 20\""},
      {"latency_ms <=", "14: no number follows the comparison; write it as \"latency_ms <= 20\""},
      {"latency_ms <= low",
       "15: 'low' is no number; give a number behind the comparison, such as 20 or 70GiB"},
      {"latency_ms <= 20GiB",
       "17: 'GiB' is a size, and latency_ms is a time by its name; write the number without a "
       "unit"},
      {"memory < 70 GiBs",
       "12: 'GiBs' is no unit; use B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, ns, us, ms, s, min, h, "
       "d, %, k, M, G or T, or none"}};
  for (const auto& [text, expected] : faults) {
    const auto read = ParseConstraint(text);
    const auto* fault = std::get_if<ConstraintFault>(&read);
    ASSERT_NE(fault, nullptr) << text;
    EXPECT_EQ(absl::StrCat(fault->at, ": ", fault->message, "; ", fault->hint), expected) << text;
  }
}

TEST(ConstraintTest, TheViolationIsTheShareBeyondTheBound) {
  EXPECT_EQ(ViolationOf(ReadConstraint("x <= 20"), 20), 0);
  EXPECT_GT(ViolationOf(ReadConstraint("x < 20"), 20), 0);
  EXPECT_DOUBLE_EQ(ViolationOf(ReadConstraint("x < 20"), 30), 0.5);
  EXPECT_DOUBLE_EQ(ViolationOf(ReadConstraint("x >= 20"), 10), 0.5);
  EXPECT_EQ(ViolationOf(ReadConstraint("x > 20"), 21), 0);
  EXPECT_DOUBLE_EQ(ViolationOf(ReadConstraint("x <= 0"), 3), 3);
  EXPECT_TRUE(std::isinf(ViolationOf(ReadConstraint("x <= 0"), std::nan("")))) << "no number";
}

}  // namespace
}  // namespace dt::spec
