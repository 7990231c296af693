// report_test.cc: lines that programs report.
#include "worker/program/report.h"

#include <cmath>

#include "common/limits.h"
#include "dtrain/v1/model.pb.h"
#include "gtest/gtest.h"

namespace dt::program {
namespace {

Report Read(const std::string& line) {
  auto read = ReadReport(line);
  const auto* wrong = std::get_if<WrongLine>(&read);
  EXPECT_EQ(wrong, nullptr) << line << ": " << wrong->why;
  return wrong == nullptr ? std::get<Report>(read) : Report{};
}

std::string WhyNot(const std::string& line) {
  auto read = ReadReport(line);
  const auto* wrong = std::get_if<WrongLine>(&read);
  return wrong == nullptr ? "" : wrong->why;
}

TEST(ReportTest, NumbersComeByTheirNames) {
  const Report report = Read(R"({"step": 100, "val_loss": 3.5, "any/name": 1, "up": true})");
  EXPECT_EQ(report.step, 100u);
  EXPECT_EQ(report.numbers,
            (std::map<std::string, double>{{"val_loss", 3.5}, {"any/name", 1}, {"up", 1}}));
  EXPECT_EQ(Read(R"({"step": 100.0, "loss": 1})").step, 100u) << "as NumPy prints it";
}

TEST(ReportTest, WhatIsNotFiniteIsNoNumber) {
  for (const char* word : {"NaN", "Infinity", "-Infinity", "null"}) {
    const Report report = Read(std::string(R"({"step": 1, "loss": )") + word + "}");
    EXPECT_TRUE(std::isnan(report.numbers.at("loss"))) << word;
  }
}

TEST(ReportTest, WordsInTextsStay) {
  EXPECT_EQ(Read(R"({"checkpoint": "NaN \" NaN", "step": 1})").checkpoint, "NaN \" NaN");
}

TEST(ReportTest, AWrongLineSaysWhyAndWhatHelps) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"loss 3.1", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"{", "not a JSON object"},
      {"{}", "says nothing"},
      {R"({"loss": 1})", "no step"},
      {R"({"step": -1, "loss": 1})", "whole number"},
      {R"({"step": 1.5, "loss": 1})", "whole number"},
      {R"({"step": "1", "loss": 1})", "whole number"},
      {R"({"step": 1e300, "loss": 1})", "whole number"},
      {R"({"step": )" + std::string(30'000, '[') + std::string(30'000, ']') + "}", "a list"},
      {R"({"step": 1, "loss": "low"})", "numbers alone"},
      {R"({"step": 1, "a b": 1})", "not a name for a metric"},
      {R"({"step": 1, "": 1})", "not a name for a metric"},
      {R"({"progress": 40})", "from 0 to 1"},
      {R"({"checkpoint": 7, "step": 1})", "name of a folder"},
      {std::string(limits::kProgramLineBytes + 1, 'x'), "bytes"},
  };
  for (const auto& [line, why] : wrong) {
    EXPECT_NE(WhyNot(line).find(why), std::string::npos)
        << line.substr(0, 80) << ": " << WhyNot(line);
  }
  std::string many = R"({"step": 1)";
  for (size_t i = 0; i <= limits::kMetrics; ++i) many += ", \"m" + std::to_string(i) + "\": 1";
  EXPECT_NE(WhyNot(many + "}").find("report fewer"), std::string::npos);
}

TEST(ReportTest, ColumnsOfAStepAloneAreARow) {
  EXPECT_TRUE(IsRow(Read(R"({"step": 1, "loss": 1, "learning_rate": 0.1})")));
  EXPECT_FALSE(IsRow(Read(R"({"step": 1, "loss": 1, "val_loss": 2})")));
  EXPECT_FALSE(IsRow(Read(R"({"progress": 0.5})")));
}

TEST(ReportTest, EveryFieldOfAStepsRowIsAColumn) {
  const auto* row = ::dtrain::v1::StepRow::descriptor();
  for (int i = 0; i < row->field_count(); ++i) {
    const std::string name = row->field(i)->name();
    const bool ours = name == "step" || name == "wall_time_ms" || row->field(i)->is_repeated();
    EXPECT_EQ(IsRowColumn(name), !ours) << name;
  }
}

}  // namespace
}  // namespace dt::program
