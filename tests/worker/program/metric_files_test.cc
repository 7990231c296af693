// metric_files_test.cc: files that grow while a program runs.
#include "worker/program/metric_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/limits.h"
#include "common/metric_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"
#include "tests/worker/program/event_file.h"

namespace dt::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MetricFilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text,
             std::ios::openmode mode = std::ios::app) {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | mode) << text;
  }
  MetricFiles Files(const MetricPaths& paths, uint64_t resumed = 0) {
    return MetricFiles(folder_.path(), paths, resumed);
  }

  const testing::TempFolder folder_;
};

TEST_F(MetricFilesTest, NewRowsAreReadOnce) {
  MetricFiles files = Files({"logs/metrics.csv", ""});
  EXPECT_FALSE(files.found());
  EXPECT_THAT(files.Read().lines, IsEmpty());
  Write("logs/metrics.csv", "step,loss\n1,0.5\n2,0.");
  EXPECT_THAT(files.Read().lines, ElementsAre(R"({"step": 1, "loss": 0.5})"));
  EXPECT_TRUE(files.found());
  Write("logs/metrics.csv", "25\n3,0.125");
  EXPECT_THAT(files.Read().lines, ElementsAre(R"({"step": 2, "loss": 0.25})"));
  EXPECT_THAT(files.Read().lines, IsEmpty());
  EXPECT_THAT(files.Finish().lines, ElementsAre(R"({"step": 3, "loss": 0.125})"));
}

TEST_F(MetricFilesTest, RowsOfAnEarlierRunAreLeftAlone) {
  Write("m.csv", "step,loss\n1,9\n2,9\n");
  MetricFiles appended = Files({"m.csv", ""});
  MetricFiles anew = Files({"m.csv", ""}, 2);
  EXPECT_THAT(appended.Read().lines, IsEmpty());
  EXPECT_FALSE(appended.found());
  Write("m.csv", "3,0.5\n");
  EXPECT_THAT(appended.Read().lines, ElementsAre(R"({"step": 3, "loss": 0.5})"));
  Write("m.csv", "step,loss\n3,0.25\n4,0.25\n5,0.25\n", std::ios::trunc);
  EXPECT_EQ(anew.Read().lines.size(), 3u);
}

TEST_F(MetricFilesTest, AFileThatIsWrittenAgainGivesOnlyItsNewRows) {
  MetricFiles files = Files({"*/m.csv", ""});
  Write("version_0/m.csv", "step,loss\n1,0.5\n2,0.4\n");
  EXPECT_EQ(files.Read().lines.size(), 2u);
  Write("version_0/m.csv", "step,loss,val\n1,0.5,\n2,0.4,\n2,,0.3\n3,0.2,\n", std::ios::trunc);
  EXPECT_THAT(files.Read().lines,
              ElementsAre(R"({"step": 2, "val": 0.3})", R"({"step": 3, "loss": 0.2})"));
}

TEST_F(MetricFilesTest, EventsAreReadInTheOrderOfTheirTimes) {
  MetricFiles files = Files({"", "runs"});
  Write("runs/a/train/events.out.tfevents.1", testing::Record(testing::Event(1, 0, "")));
  EXPECT_THAT(files.Read().lines, IsEmpty());
  Write("runs/a/train/events.out.tfevents.1",
        testing::Record(testing::Event(2, 1, testing::Scalar("loss", 0.5F))) +
            testing::Record(testing::Event(4, 2, testing::Scalar("loss", 0.25F))));
  Write("runs/a/events.out.tfevents.2",
        testing::Record(testing::Event(3, 1, testing::Scalar("acc", 0.5F))) +
            testing::Record(testing::Event(5, 1, testing::Scalar("f1", 0.75F))));
  EXPECT_THAT(files.Read().lines,
              ElementsAre(R"({"step": 1, "train/loss": 0.5, "acc": 0.5})",
                          R"({"step": 2, "train/loss": 0.25})", R"({"step": 2, "f1": 0.75})"))
      << "an event whose step lies behind belongs to the newest step";
}

TEST_F(MetricFilesTest, ADamagedFileCostsOnlyItself) {
  MetricFiles files = Files({"", "runs"});
  Write("runs/events.out.tfevents.1", std::string(100, 'x'));
  Write("runs/events.out.tfevents.2",
        testing::Record(testing::Event(3, 1, testing::Scalar("acc", 0.5F))));
  const MetricFiles::Taken taken = files.Read();
  EXPECT_THAT(taken.lines, ElementsAre(R"({"step": 1, "acc": 0.5})"));
  EXPECT_THAT(taken.complaints, ElementsAre(HasSubstr("wrong checksum at byte 0")));
  EXPECT_THAT(files.Read().complaints, IsEmpty());
}

TEST_F(MetricFilesTest, FilesOfEarlierRunsTakeNoPlace) {
  const std::string old = testing::Record(testing::Event(1, 1, testing::Scalar("acc", 0.25F)));
  for (int i = 0; i < 40; ++i) {
    Write("runs/events.out.tfevents.1" + std::to_string(i), old);
    Write("version_" + std::to_string(i) + "/m.csv", "step,loss\n1,9\n");
  }
  MetricFiles files = Files({"*/m.csv", "runs"});
  EXPECT_THAT(files.Read().lines, IsEmpty());
  EXPECT_FALSE(files.found());
  Write("runs/events.out.tfevents.2",
        testing::Record(testing::Event(3, 2, testing::Scalar("acc", 0.5F))));
  Write("version_40/m.csv", "step,loss\n2,0.5\n");
  Write("version_0/m.csv", "3,0.25\n");
  const MetricFiles::Taken taken = files.Read();
  EXPECT_THAT(taken.lines,
              ElementsAre(R"({"step": 3, "loss": 0.25})", R"({"step": 2, "loss": 0.5})",
                          R"({"step": 2, "acc": 0.5})"));
  EXPECT_THAT(taken.complaints, IsEmpty());
  EXPECT_TRUE(files.found_rows());
  EXPECT_TRUE(files.found_events());
}

TEST_F(MetricFilesTest, TheEndReadsUpToABoundAndSaysWhatIsLeft) {
  MetricFiles files = Files({"m*.csv", ""});
  std::string rows = "step,loss,note\n";
  const size_t count = MetricFiles::kLastBytes / 30'000;
  for (size_t i = 1; i <= count; ++i) {
    rows += std::to_string(i) + ",0.5," + std::string(32'000, 'x') + "\n";
  }
  Write("m1.csv", rows);
  Write("m2.csv", "step,loss\n1,0.5\n");
  const MetricFiles::Taken taken = files.Finish();
  EXPECT_GT(taken.lines.size(), count / 2);
  EXPECT_LT(taken.lines.size(), count);
  EXPECT_THAT(taken.complaints, ElementsAre(HasSubstr("m1.csv: the last "),
                                            HasSubstr("m2.csv: the last 16 bytes were not read")));
}

TEST_F(MetricFilesTest, AFileInTheSameStateIsReadOnlyAtTheEnd) {
  MetricFiles files = Files({"m.csv", ""});
  Write("m.csv", "step,loss\n1,0.5\n");
  EXPECT_EQ(files.Read().lines.size(), 1u);
  const std::filesystem::path path = std::filesystem::path(folder_.path()) / "m.csv";
  const auto written = std::filesystem::last_write_time(path);
  Write("m.csv", "step,loss\n2,0.5\n", std::ios::trunc);
  std::filesystem::last_write_time(path, written);
  EXPECT_THAT(files.Read().lines, IsEmpty()) << "its state is its inode, size and time";
  EXPECT_THAT(files.Finish().lines, ElementsAre(R"({"step": 2, "loss": 0.5})"));
}

TEST_F(MetricFilesTest, APatternLooksAtABoundedNumberOfEntries) {
  MetricFiles files = Files({"d*/m*.csv", ""});
  const size_t others = MetricFiles::kScanEntries * 3 / 20;
  for (int folder = 0; folder < 10; ++folder) {
    const std::string name = "d" + std::to_string(folder);
    Write(name + "/m.csv", "step,loss\n" + std::to_string(folder) + ",0.5\n");
    for (size_t i = 0; i < others; ++i) Write(name + "/" + std::to_string(i), "");
  }
  const size_t found = files.Read().lines.size();
  EXPECT_GE(found, 5u);
  EXPECT_LT(found, 10u);
}

TEST_F(MetricFilesTest, WhatIsNoFileIsLeftAlone) {
  MetricFiles files = Files({"m*", "runs"});
  ASSERT_EQ(mkfifo((folder_.path() + "/m1").c_str(), 0600), 0);
  std::filesystem::create_directories(folder_.path() + "/m2");
  Write("m3", std::string(3 * limits::kMetricReadBytes, 'x'));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(files.Read().lines, IsEmpty());
  for (size_t i = 0; i <= limits::kMetricFiles; ++i) Write("mm" + std::to_string(i), "loss\n");
  EXPECT_EQ(files.Read().complaints.size(), 1u);
}

}  // namespace
}  // namespace dt::program
