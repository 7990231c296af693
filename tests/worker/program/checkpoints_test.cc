// checkpoints_test.cc: which checkpoints of a program stay, by the metric of its search.
#include "worker/program/checkpoints.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <limits>
#include <set>

#include "tests/testing/await.h"
#include "tests/testing/temp_folder.h"

namespace dt::program {
namespace {

namespace fs = std::filesystem;
using ::dt::testing::kPatience;
using ::dt::testing::TempFolder;

class CheckpointsTest : public ::testing::Test {
 protected:
  CheckpointsTest() {
    start_.token = "t";
    start_.experiment = 7;
    start_.trial = 3;
    start_.attempt = 1;
    start_.storage = folder_.path();
    spec_.run = "true";
  }
  // Saves a checkpoint of each step in turn and returns the frames about them.
  std::vector<frames::CheckpointDone> Save(const std::vector<SavedFolder>& saved) {
    Checkpoints checkpoints(start_, spec_, std::nullopt);
    const auto made = checkpoints.MakeFolder();
    EXPECT_TRUE(made.ok()) << made.status();
    std::vector<frames::CheckpointDone> told;
    const auto note = [&](const Checkpoints::Outgoing& out) {
      for (const std::string& complaint : out.complaints) ADD_FAILURE() << complaint;
      for (const frames::FromTrainer& frame : out.frames) {
        if (const auto* done = std::get_if<frames::CheckpointDone>(&frame)) told.push_back(*done);
      }
    };
    for (const SavedFolder& one : saved) {
      folder_.Write("7/3/a1/" + one.folder + "/w", "weights");
      note(checkpoints.Begin(one));
      pollfd wake{checkpoints.wake_fd(), POLLIN, 0};
      EXPECT_EQ(poll(&wake, 1, static_cast<int>(kPatience / std::chrono::milliseconds(1))), 1);
      note(checkpoints.Take());
      note(checkpoints.NoteRegistered(one.step));
    }
    return told;
  }
  std::set<std::string> Left() const {
    std::set<std::string> left;
    for (const auto& entry : fs::directory_iterator(folder_ / "7/3/a1")) {
      left.insert(entry.path().filename().string());
    }
    return left;
  }
  static std::vector<bool> Best(const std::vector<frames::CheckpointDone>& told) {
    std::vector<bool> best;
    for (const frames::CheckpointDone& one : told) best.push_back(one.best);
    return best;
  }

  TempFolder folder_;
  frames::Start start_;
  ProgramSpec spec_;
};

using Names = std::set<std::string>;
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

TEST_F(CheckpointsTest, TheBestIsByTheMetricAndItsGoal) {
  start_.metric = "acc";
  start_.metric_goal = "maximize";
  // The losses would choose another checkpoint.
  const auto told = Save({{"a", 1, 3.0, 0.5},
                          {"b", 2, 2.5, 0.9},
                          {"c", 3, 2.0, 0.7},
                          {"d", 4, 1.5, kNoNumber},
                          {"e", 5, 1.0, std::nullopt}});
  EXPECT_EQ(Best(told), (std::vector<bool>{true, true, false, false, false}));
  EXPECT_EQ(Left(), (Names{"step-2", "step-5"}));
}

TEST_F(CheckpointsTest, WithoutAnotherMetricItIsByTheValidationLoss) {
  const auto told = Save({{"a", 1, 3.0, {}}, {"b", 2, 2.0, {}}, {"c", 3, 2.5, {}}});
  EXPECT_EQ(Best(told), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(Left(), (Names{"step-2", "step-3"}));
}

}  // namespace
}  // namespace dt::program
