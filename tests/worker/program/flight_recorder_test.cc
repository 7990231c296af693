// flight_recorder_test.cc: the variables of PyTorch's flight recorder, and its record at a hang.
#include "worker/program/flight_recorder.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt::program {
namespace {

const FlightFiles kFiles = {.record = "/s/1/1/a1/nccl-rank-", .pipe = "/run/report-nccl-"};

TEST(FlightRecorderTest, AProgramGetsNamesForItsRecordAndItsPipe) {
  Environment environment;
  SetFlightRecorder(kFiles, environment);
  EXPECT_EQ(environment, (Environment{{"TORCH_FR_BUFFER_SIZE", "2000"},
                                      {"TORCH_FR_DUMP_TEMP_FILE", "/s/1/1/a1/nccl-rank-"},
                                      {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/run/report-nccl-"},
                                      {"TORCH_NCCL_DUMP_ON_TIMEOUT", "1"}}));
}

TEST(FlightRecorderTest, APersonsOwnVariablesStayAlsoUnderTheirFormerNames) {
  const Environment own = {{"TORCH_NCCL_TRACE_BUFFER_SIZE", "0"},
                           {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/mine/r"},
                           {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/mine/p"},
                           {"TORCH_NCCL_DUMP_ON_TIMEOUT", "0"}};
  Environment environment = own;
  SetFlightRecorder(kFiles, environment);
  EXPECT_EQ(environment, own);
  EXPECT_EQ(FlightFilesIn(environment).record, "/mine/r");
  EXPECT_EQ(FlightFilesIn(environment).pipe, "/mine/p");
  EXPECT_EQ(FlightFilesIn({}).record, "");
}

// A rank makes its pipe, and writes its record once something is written there.
TEST(FlightRecorderTest, ARankThatListensAtItsPipeWritesItsRecord) {
  const testing::TempFolder folder;
  const FlightFiles files = {.record = folder / "rank-", .pipe = folder / "pipe-"};
  EXPECT_EQ(TakeFlightRecord(files, 3), "") << "nobody listens, and there is no record";
  ASSERT_EQ(mkfifo((files.pipe + "3.pipe").c_str(), 0600), 0);
  EXPECT_EQ(TakeFlightRecord(files, 3), "") << "nobody has opened the pipe";
  testing::ChildProcess rank(
      {.path = "/bin/sh",
       .arguments = {"-c", "exec 3<>\"$0\"; : >\"$2\"; head -c 1 <&3 >/dev/null; echo all >\"$1\"",
                     files.pipe + "3.pipe", files.record + "3", folder / "ready"}});
  ASSERT_TRUE(testing::Await([&] { return std::filesystem::exists(folder / "ready"); }));
  EXPECT_EQ(TakeFlightRecord(files, 3), files.record + "3");
}

TEST(FlightRecorderTest, ARecordOfATimeOutBeforeCountsToo) {
  const testing::TempFolder folder;
  folder.Write("rank-0", "all");
  EXPECT_EQ(TakeFlightRecord({.record = folder / "rank-", .pipe = ""}, 0), folder / "rank-0");
  folder.Write("rank-1", "");
  EXPECT_EQ(TakeFlightRecord({.record = folder / "rank-", .pipe = ""}, 1), "");
  EXPECT_EQ(TakeFlightRecord({}, 0), "");
}

// The names are the program's: what is there may be anything.
TEST(FlightRecorderTest, WhatIsNoPipeIsNotWrittenTo) {
  const testing::TempFolder folder;
  folder.Write("pipe-0.pipe", "mine");
  EXPECT_EQ(TakeFlightRecord({.record = folder / "rank-", .pipe = folder / "pipe-"}, 0), "");
  EXPECT_EQ(testing::Slurp(folder / "pipe-0.pipe"), "mine");
  std::filesystem::create_directory(folder / "rank-2");
  EXPECT_EQ(TakeFlightRecord({.record = folder / "rank-", .pipe = folder / "pipe-"}, 2), "");
}

}  // namespace
}  // namespace dt::program
