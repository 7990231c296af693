// report_test.cc: lines that programs report.
#include "worker/program/report.h"

#include <cmath>

#include "common/limits.h"
#include "dtrain/v1/model.pb.h"
#include "gtest/gtest.h"

namespace dt::program {
namespace {

Report Read(const std::string& line, const std::string& metric = "") {
  auto read = ReadReport(line, metric);
  const auto* wrong = std::get_if<WrongLine>(&read);
  EXPECT_EQ(wrong, nullptr) << line << ": " << wrong->why;
  return wrong == nullptr ? std::get<Report>(read) : Report{};
}

std::string WhyNot(const std::string& line) {
  auto read = ReadReport(line);
  const auto* wrong = std::get_if<WrongLine>(&read);
  return wrong == nullptr ? "" : wrong->why;
}

// Returns the parts that were left out of a line that still counts as a report, with the reasons.
std::string Flawed(const std::string& line, const std::string& metric = "") {
  std::string all;
  for (const Flaw& flaw : Read(line, metric).flaws) all += flaw.name + ": " + flaw.why + "\n";
  return all;
}

TEST(ReportTest, NumbersAreReadByTheirNames) {
  const Report report = Read(R"({"step": 100, "val_loss": 3.5, "any/name": 1, "up": true})");
  EXPECT_EQ(report.step, 100u);
  EXPECT_EQ(report.numbers,
            (std::map<std::string, double>{{"val_loss", 3.5}, {"any/name", 1}, {"up", 1}}));
  EXPECT_EQ(Read(R"({"step": 100.0, "loss": 1})").step, 100u) << "as NumPy prints it";
}

TEST(ReportTest, AValueThatIsNotFiniteIsNoNumber) {
  for (const char* word : {"NaN", "Infinity", "-Infinity", "null", "nan", "-nan", "inf", "-inf"}) {
    const Report report = Read(std::string(R"({"step": 1, "loss": )") + word + "}");
    EXPECT_TRUE(std::isnan(report.numbers.at("loss"))) << word;
  }
}

TEST(ReportTest, WordsInTextsStay) {
  EXPECT_EQ(Read(R"({"checkpoint": "NaN \" NaN 1e400", "step": 1})").checkpoint,
            "NaN \" NaN 1e400");
}

TEST(ReportTest, ReadableJsonReplacesOnlyWordsOutsideOfTexts) {
  EXPECT_EQ(ReadableJson(R"({"note": "loss: NaN \" NaN", "loss": NaN, "x":-inf, "n": null})", "7"),
            R"({"note": "loss: NaN \" NaN", "loss": 7, "x":7, "n": null})");
  EXPECT_EQ(ReadableJson("[1e400]", "null"), R"(["\u00011e400"])");
}

TEST(ReportTest, AWrongLineIsExplainedWithTheFix) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"loss 3.1", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"{", "not a JSON object"},
      {"{}", "says nothing"},
      {R"({"loss": 1})", "no step"},
      {R"({"step": -1, "loss": 1})", "step is -1; give an integer from 0"},
      {R"({"step": 1.5, "loss": 1})", "step is 1.5; give an integer from 0"},
      {R"({"epoch": 0.25, "loss": 1})", "epoch is 0.25; give a step, an integer from 0"},
      {R"({"epoch": 1, "iter": 3, "loss": 1})", "it has iter and epoch and no step"},
      {R"({"step": "1", "loss": 1})", "step is the text '1'"},
      {R"({"step": 1e300, "loss": 1})", "give an integer from 0"},
      {R"({"step": 1e400, "loss": 1})", "1e400, beyond the range of numbers"},
      {R"({"step": )" + std::string(30'000, '[') + std::string(30'000, ']') + "}", "a list"},
      {R"({"progress": 40})", "from 0 to 1"},
      {R"({"checkpoint": 7})", "name of a folder"},
      {std::string(limits::kProgramLineBytes + 1, 'x'), "bytes"},
  };
  for (const auto& [line, why] : wrong) {
    EXPECT_NE(WhyNot(line).find(why), std::string::npos)
        << line.substr(0, 80) << ": " << WhyNot(line);
  }
}

TEST(ReportTest, AFieldThatMeansNothingTakesNoOtherWithIt) {
  const std::vector<std::pair<std::string, std::string>> flawed = {
      {R"("low")", "x: it is the text 'low'; report a number"},
      {R"("0.5")", "x: it is the text '0.5'; report a number, without quotation marks"},
      {"[1, 2]", "x: it is a list"},
      {R"({"a": 1})", "x: it is an object; put its numbers beside the step"},
      {"1e400", "x: it is 1e400, beyond the range of numbers, 1.8e308"},
      {"-1e999", "beyond the range of numbers"},
      {std::string(400, '9'), "beyond the range of numbers"},
  };
  for (const auto& [value, why] : flawed) {
    const std::string line = R"({"step": 0, "x": )" + value + R"(, "accuracy": 0.5})";
    EXPECT_NE(Flawed(line).find(why), std::string::npos) << value << ": " << Flawed(line);
    EXPECT_EQ(Read(line).numbers, (std::map<std::string, double>{{"accuracy", 0.5}})) << value;
    EXPECT_EQ(Read(line).step, 0u) << "a step as any other";
  }
  for (const char* name : {"", " a", "a,b", "a\\nb", "-a", "a<b"}) {
    EXPECT_NE(Flawed(std::string(R"({"step": 1, "ok": 1, ")") + name + R"(": 1})").find("no name"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(Flawed(R"({"checkpoint": 7, "step": 1})").find("name of a folder"), std::string::npos);
}

TEST(ReportTest, UsualNamesOfMetricsAreAccepted) {
  for (const char* name : {"val/AR@100", "mAP@0.5:0.95", "top-5 acc (%)", "loss[0]", "lr-Adam/pg1",
                           "0.5_iou", "_private", "f1=macro", "a+b"}) {
    EXPECT_EQ(Read(std::string(R"({"step": 1, ")") + name + R"(": 2})").numbers.at(name), 2)
        << name;
  }
}

TEST(ReportTest, TheMetricIsPresentEvenIfItIsNoNumber) {
  for (const char* value : {"NaN", "Infinity", "null", R"("0.5")", "1e400", "[1]", R"({"a": 1})"}) {
    const Report report = Read(std::string(R"({"step": 1, "acc": )") + value + "}", "acc");
    ASSERT_TRUE(report.numbers.contains("acc")) << value;
    EXPECT_TRUE(std::isnan(report.numbers.at("acc"))) << value;
  }
  EXPECT_NE(Flawed(R"({"step": 1, "acc": "0.5"})", "acc").find("without quotation marks"),
            std::string::npos);
}

TEST(ReportTest, TheMetricStaysAmongTooManyNumbers) {
  std::string many = R"({"step": 1)";
  for (size_t i = 0; i <= limits::kMetrics; ++i) many += ", \"m" + std::to_string(i) + "\": 1";
  const Report report = Read(many + R"(, "z": 3})", "z");
  EXPECT_EQ(report.numbers.size(), limits::kMetrics + 1);
  EXPECT_EQ(report.numbers.at("z"), 3);
  EXPECT_NE(Flawed(many + "}").find("report fewer"), std::string::npos);
}

TEST(ReportTest, OtherNamesMayStandForTheStep) {
  for (const char* word : {"epoch", "iter", "iteration", "global_step"}) {
    const Report report = Read(std::string(R"({"loss": 1, ")") + word + R"(": 3})");
    EXPECT_EQ(report.step, 3u) << word;
    EXPECT_EQ(report.step_word, word);
    EXPECT_EQ(report.numbers.size(), 1u);
  }
  const Report both = Read(R"({"step": 30, "epoch": 2, "loss": 1})");
  EXPECT_EQ(both.step, 30u);
  EXPECT_EQ(both.numbers.at("epoch"), 2) << "beside a step it is a number like any other";
  EXPECT_EQ(Read(R"({"global_step": 7, "epoch": 2, "loss": 1})").step, 7u);
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
