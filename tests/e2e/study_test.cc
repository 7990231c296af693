// study_test.cc: examples/study-small.yaml through the real programs, from text to report. Checks
// what the study is meant to show, and that the report's figures match the stored points.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/training_fixture.h"
#include "tests/testing/shared_data.h"

namespace dt {
namespace {

constexpr int kBatchSizes[] = {8, 32, 128};
constexpr int kLengths[] = {64, 128, 256, 1024};
// For a study of a minute on two cores; a busy machine takes several times that.
constexpr std::chrono::minutes kStudy{7};

// A row by column name. Cells of these commands that hold a comma or a quote are not parsed.
using Row = std::map<std::string, std::string>;
std::vector<Row> ReadCsv(const std::string& text) {
  std::vector<std::string> header;
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    for (size_t at = 0; at <= line.size();) {
      const size_t end = std::min(line.find(',', at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    if (header.empty()) {
      header = cells;
      continue;
    }
    EXPECT_EQ(cells.size(), header.size()) << line;
    Row& row = rows.emplace_back();
    for (size_t i = 0; i < std::min(cells.size(), header.size()); ++i) row[header[i]] = cells[i];
  }
  return rows;
}

double Number(const std::string& text) {
  return text.empty() ? NAN : strtod(text.c_str(), nullptr);
}

class StudyTest : public TrainingTest {
 protected:
  // Runs the complete study, with fewer tokens a trial than the example has.
  void RunStudy(const std::string& train, const std::string& valid) {
    cluster_.StartCoordinator();
    for (const char* slot : {"0", "1"}) {
      cluster_.StartWorker(std::string("w") + slot, {"--memory-limit", "1G"});
    }
    ASSERT_TRUE(cluster_.AwaitWorkers(2));
    MustDtctl({"data", "tokenize", "--tokenizer", "byte", "--output",
               cluster_.folder() / "data/wikitext-2", "--val", valid, train});
    MustDtctl({"submit", std::string(DTRAIN_SOURCE_DIR) + "/examples/study-small.yaml", "--set",
               "train.max_tokens=300000", "--id-only"});
    ASSERT_TRUE(cluster_.AwaitEnd(1, kStudy));
    for (Row& row : ReadCsv(MustDtctl({"report", "1", "--format", "csv"}).out)) {
      const std::pair<int, int> key{std::stoi(row["train.batch_size"]),
                                    std::stoi(row["train.seq_len"])};
      cells_[key] = std::move(row);
    }
    ASSERT_EQ(cells_.size(), std::size(kBatchSizes) * std::size(kLengths));
  }

  double At(int batch_size, int length, const std::string& column) {
    return Number(cells_.at({batch_size, length})[column]);
  }
  // Expects that longer sequences, with equal tokens in fewer steps, teach less. Leaves out NaN, of
  // the cell that ran out of memory.
  void ExpectRising(const std::string& column) {
    for (const int batch_size : kBatchSizes) {
      for (size_t i = 1; i < std::size(kLengths); ++i) {
        const double shorter = At(batch_size, kLengths[i - 1], column);
        const double longer = At(batch_size, kLengths[i], column);
        EXPECT_FALSE(longer <= shorter) << column << " at " << batch_size << " × " << kLengths[i];
      }
    }
    for (const int length : kLengths) {
      for (size_t i = 1; i < std::size(kBatchSizes); ++i) {
        const double fewer = At(kBatchSizes[i - 1], length, column);
        const double more = At(kBatchSizes[i], length, column);
        EXPECT_FALSE(more <= fewer) << column << " at " << kBatchSizes[i] << " × " << length;
      }
    }
  }
  // Checks that the report's figures come from the rows that `dtctl metrics` prints.
  void ExpectFiguresOfStoredPoints(const Row& cell) {
    const std::string trial = cell.at("trial");
    const std::vector<Row> points = ReadCsv(
        MustDtctl({"metrics", "1/" + trial, "--metric", "loss", "--metric", "val_loss", "--metric",
                   "val_perplexity_mean", "--metric", "forward_seconds", "-o", "csv"})
            .out);
    ASSERT_FALSE(points.empty()) << "trial " << trial;
    EXPECT_EQ(std::to_string(points.size()), cell.at("steps")) << "every step is logged";
    const Row& last = points.back();
    EXPECT_EQ(last.at("loss"), cell.at("loss"));
    EXPECT_EQ(last.at("val_loss"), cell.at("val_loss"));
    EXPECT_EQ(last.at("val_perplexity_mean"), cell.at("perplexity_batch_mean"));
    const double val_loss = Number(cell.at("val_loss"));
    EXPECT_NEAR(Number(cell.at("perplexity")) / std::exp(val_loss), 1, 1e-9);
    double forward = 0;
    for (const Row& point : points) forward += Number(point.at("forward_seconds"));
    forward /= static_cast<double>(points.size());
    EXPECT_NEAR(Number(cell.at("forward_seconds")) / forward, 1, 1e-6);
    // 10,797,149 tokens of training data.
    EXPECT_NEAR(
        Number(cell.at("seconds_per_epoch")) * Number(cell.at("tokens_per_second")) / 10797149.0, 1,
        1e-6);
  }

  std::map<std::pair<int, int>, Row> cells_;  // key: batch size and sequence length
};

TEST_F(StudyTest, LossRisesWithBatchAndLengthAndOutOfMemoryIsAResult) {
  const auto train = testing::SharedData("wikitext-2/train.txt");
  const auto valid = testing::SharedData("wikitext-2/valid.txt");
  if (!train || !valid) {
    GTEST_SKIP() << "no WikiText-2 in ../shared/data (DTRAIN_SHARED_DATA names another place)";
  }
  RunStudy(*train, *valid);
  if (HasFatalFailure()) return;

  for (const auto& [key, cell] : cells_) {
    const bool largest = key == std::pair(128, 1024);
    EXPECT_EQ(cell.at("outcome"), largest ? "oom" : "finished") << key.first << " × " << key.second;
    EXPECT_EQ(cell.at("attempts"), "1") << key.first << " × " << key.second << "\n"
                                        << Dtctl({"explain", "1/" + cell.at("trial")}).out;
    EXPECT_EQ(cell.at("val_loss").empty(), largest);
    if (!largest) ExpectFiguresOfStoredPoints(cell);
  }
  ExpectRising("val_loss");
  ExpectRising("perplexity");
  ExpectRising("perplexity_batch_mean");
  EXPECT_EQ(cells_.at({8, 64})["steps"], "586") << "300,000 tokens ÷ 512";

  const std::string page = MustDtctl({"report", "1", "--format", "html"}).out;
  for (const char* part :
       {"validation loss against train.seq_len", "seconds per epoch against train.seq_len",
        "out of memory", "batch_size=128"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const std::string text = MustDtctl({"report", "1", "--format", "md"}).out;
  char shown[32];
  std::snprintf(shown, sizeof shown, "\n| 8 | %.2f / %.2f / ", At(8, 64, "val_loss"),
                At(8, 64, "perplexity"));
  EXPECT_NE(text.find(shown), std::string::npos) << shown << "is not in\n" << text;
  const size_t largest = text.find("\n| 128 | ");
  ASSERT_NE(largest, std::string::npos) << text;
  EXPECT_NE(text.substr(largest, text.find('\n', largest + 1) - largest).find("| oom |"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace dt
