// attempt_fixture.h: attempts of real dttrain processes on small data.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/run/trainer_gang.h"

namespace dt::testing {

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

  TempFolder folder_;
};

}  // namespace dt::testing
