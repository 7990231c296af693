// attempt_fixture.h: attempts of real dttrain processes on small data.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/run/trainer_gang.h"

namespace dt::testing {

// What a rank sent in the step of a row, by operation and axis.
inline std::map<std::string, double> BytesOf(const nlohmann::json& row) {
  std::map<std::string, double> bytes;
  for (const nlohmann::json& each : row.at("collectives")) {
    bytes[each.at("op").get<std::string>() + " " + each.at("axis").get<std::string>()] =
        each.at("bytes").get<double>();
  }
  return bytes;
}

class AttemptTest : public ::testing::Test {
 protected:
  AttemptTest() {
    WriteShard(folder_, "data/train.bin", 20000);
    WriteShard(folder_, "data/val.bin", 3000);
  }

  frames::Start Start(const nlohmann::json& spec) {
    frames::Start start;
    start.token = "token";
    start.experiment = 7;
    start.trial = 2;
    start.attempt = 1;
    start.spec = Resolved(spec);
    start.data_root = folder_ / "data";
    return start;
  }
  frames::Start StoredStart(const nlohmann::json& spec) {
    frames::Start start = Start(spec);
    std::filesystem::create_directories(folder_ / "storage");
    start.storage = folder_ / "storage";
    return start;
  }
  static frames::Resume ResumeOf(const frames::CheckpointDone& checkpoint) {
    return {checkpoint.step, checkpoint.path, checkpoint.manifest_hash};
  }
  static void ExpectFinished(const Told& told) {
    for (size_t rank = 0; rank < told.ends.size(); ++rank) {
      EXPECT_EQ(told.Cause(rank), "finished") << "rank " << rank << ": " << told.Message(rank);
    }
  }
  // That an attempt which goes on from a checkpoint of `whole`, which `start` began, makes the rest
  // of its rows, bit for bit.
  static void ExpectTheRestAgain(TrainerGang& gang, frames::Start start, const Told& whole,
                                 const frames::CheckpointDone& from) {
    start.attempt = 2;
    start.resume = ResumeOf(from);
    const Told rest = gang.Run(start);
    ExpectFinished(rest);
    ASSERT_EQ(rest.rows.size(), whole.rows.size() - from.step);
    for (size_t i = 0; i < rest.rows.size(); ++i) {
      for (const char* column : {"step", "loss", "grad_norm"}) {
        EXPECT_EQ(rest.rows[i][column], whole.rows[i + from.step][column]) << "row " << i;
      }
    }
    ASSERT_FALSE(rest.evals.empty());
    EXPECT_EQ(rest.evals.back().loss, whole.evals.back().loss);
  }

  TempFolder folder_;
};

}  // namespace dt::testing
