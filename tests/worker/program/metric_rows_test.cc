// metric_rows_test.cc: rows of CSV and JSON lines; records of TensorBoard's event files.
#include "worker/program/metric_rows.h"

#include <string>
#include <vector>

#include "common/limits.h"
#include "common/metric_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/program/event_file.h"
#include "worker/program/event_records.h"

namespace dt::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> ReportedRows(const std::vector<std::string>& lines) {
  MetricRows rows;
  Samples samples(0, Samples::Fall::kKeep);
  std::vector<std::string> reports;
  for (const std::string& line : lines) {
    if (const auto sample = rows.Take(line)) reports.push_back(samples.LineOf(*sample));
  }
  return reports;
}

TEST(MetricRowsTest, ACsvsHeaderNamesItsNumbers) {
  EXPECT_THAT(
      ReportedRows({"epoch,step,train_loss,val_loss,note", "0,49,0.5,,\"a, b\"", "0,49,,0.25,x"}),
      ElementsAre(R"({"step": 49, "epoch": 0, "train_loss": 0.5})",
                  R"({"step": 49, "val_loss": 0.25})"));
  EXPECT_THAT(ReportedRows({"       epoch;    loss", "  1;  0.5\r", "2;nan"}),
              ElementsAre(R"({"step": 1, "loss": 0.5})", R"({"step": 2, "loss": NaN})"));
  EXPECT_THAT(ReportedRows({"\"Step\"\t\"acc\"", "3\t0.5"}),
              ElementsAre(R"({"step": 3, "acc": 0.5})"));
}

TEST(MetricRowsTest, RowsWithoutAStepAreCounted) {
  EXPECT_THAT(ReportedRows({"loss", "3", "2"}),
              ElementsAre(R"({"step": 1, "loss": 3})", R"({"step": 2, "loss": 2})"));
}

TEST(MetricRowsTest, JsonLinesNameTheirOwn) {
  EXPECT_THAT(
      ReportedRows({R"({"step": 1, "loss": 0.5, "note": "x", "more": {"a": 1}})",
                    R"({"step": 2, "loss": NaN, "acc": "0.5"})", "{broken", "[1]"}),
      ElementsAre(R"({"step": 1, "loss": 0.5})", R"({"step": 2, "acc": 0.5, "loss": NaN})"));
}

TEST(MetricRowsTest, WordsInTextsOfJsonStay) {
  EXPECT_THAT(ReportedRows({R"({"note": "loss: NaN", "loss": 1})", R"({"loss": -inf})",
                            R"({"loss": 2, "acc": 1e400})"}),
              ElementsAre(R"({"step": 1, "loss": 1})", R"({"step": 2, "loss": NaN})",
                          R"({"step": 3, "acc": NaN, "loss": 2})"));
}

TEST(EventRecordsTest, ScalarsOfBothGenerationsAreRead) {
  const std::string file =
      testing::Record(testing::Event(1.5, 0, "")) +
      testing::Record(testing::Event(2, 3, testing::Scalar("loss", 0.5F))) +
      testing::Record(testing::Event(3, 4, testing::TensorScalar("acc", 0.25F)));
  const EventRecords read = ReadEventRecords(file);
  EXPECT_EQ(read.used, file.size());
  EXPECT_EQ(read.damage, "");
  ASSERT_EQ(read.scalars.size(), 2u);
  EXPECT_EQ(read.scalars[0].tag, "loss");
  EXPECT_EQ(read.scalars[0].step, 3);
  EXPECT_EQ(read.scalars[0].value, 0.5);
  EXPECT_EQ(read.scalars[0].wall_time, 2);
  EXPECT_EQ(read.scalars[1].value, 0.25);
}

TEST(EventRecordsTest, AnUnfinishedRecordWaits) {
  const std::string first = testing::Record(testing::Event(2, 3, testing::Scalar("loss", 0.5F)));
  const std::string file = first + first;
  for (size_t size = first.size(); size < file.size(); ++size) {
    const EventRecords read = ReadEventRecords(std::string_view(file).substr(0, size));
    EXPECT_EQ(read.used, first.size());
    EXPECT_EQ(read.damage, "");
  }
}

TEST(EventRecordsTest, DamageEndsAFileAndNothingBeforeIt) {
  const std::string first = testing::Record(testing::Event(2, 3, testing::Scalar("loss", 0.5F)));
  for (size_t at = 0; at < first.size(); ++at) {
    std::string second = first;
    second[at] = static_cast<char>(second[at] ^ 0x40);
    const EventRecords read = ReadEventRecords(first + second + first);
    EXPECT_EQ(read.used, first.size());
    EXPECT_EQ(read.scalars.size(), 1u);
    EXPECT_THAT(read.damage, HasSubstr("wrong checksum"));
  }
}

TEST(EventRecordsTest, ALargeRecordIsPassedOver) {
  const std::string scalar = testing::Record(testing::Event(2, 3, testing::Scalar("loss", 0.5F)));
  const std::string large = testing::Record(std::string(limits::kMetricRecordBytes + 1, 'x'));
  EXPECT_EQ(ReadEventRecords(large + scalar).scalars.size(), 1u);
  EXPECT_EQ(ReadEventRecords(large.substr(0, 100)).used, large.size()) << "without reading it";
}

}  // namespace
}  // namespace dt::program
