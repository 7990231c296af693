// device_fixture.h: runs an attempt on a device of this process: on the CPU, and on a GPU if there
// is one.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/worker/trainer/small_trial.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/run/train.h"

namespace dt::trainer {

using testing::LargestDifference;
using testing::SmallSpec;
using testing::Told;

class RecordedConversation : public Conversation {
 public:
  RecordedConversation() { told.ends.resize(1); }
  void Say(const frames::FromTrainer& frame) override { told.Note(0, frame); }
  std::optional<uint64_t> RegisteredStep() const override {
    return told.checkpoints.empty() ? std::nullopt : std::optional(told.checkpoints.back().step);
  }
  void AwaitRegistered(uint64_t, std::chrono::milliseconds) override {}
  // Called by the attempt before each step.
  StopRequest CurrentStopRequest() const override {
    ++asked_;
    if (on_question) on_question(asked_);
    return asked_ < stop_at ? StopRequest::kNone : Interfere();
  }
  absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds) override {
    return CollectiveError("there is one rank");
  }
  void AbortWith(std::function<void()> abort) override { abort_ = std::move(abort); }

  Told told;
  // At this question the attempt must save and stop; its group may break first.
  int stop_at = std::numeric_limits<int>::max();
  bool breaks_group = false;
  // Gets the number of the question, from 1.
  std::function<void(int)> on_question;

 private:
  StopRequest Interfere() const {
    if (breaks_group && asked_ == stop_at) abort_();
    return StopRequest::kStopAfterCheckpoint;
  }

  mutable int asked_ = 0;
  std::function<void()> abort_;
};

// Opens each device once, as dttrain does: the process stays warm.
inline const absl::StatusOr<std::unique_ptr<Device>>& Opened(const std::string& word) {
  static const absl::StatusOr<std::unique_ptr<Device>> cpu =
      OpenDevice({.word = "cpu", .threads = 1});
  static const absl::StatusOr<std::unique_ptr<Device>> cuda = OpenDevice({.word = "cuda:0"});
  return word == "cpu" ? cpu : cuda;
}

// Returns "cpu" or "cuda": a test's name cannot have a colon.
inline std::string NameOfKind(const ::testing::TestParamInfo<const char*>& device) {
  return std::string(device.param).substr(0, std::string(device.param).find(':'));
}

class DeviceTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto& opened = Opened(GetParam());
    if (!opened.ok()) GTEST_SKIP() << opened.status();
    device_ = (*opened).get();
    testing::WriteShard(folder_, "train.bin", 20000);
    testing::WriteShard(folder_, "val.bin", 3000);
  }

  Told Train(const nlohmann::json& spec,
             AttemptOptions::Alone alone = AttemptOptions::Alone::kPlain) {
    RecordedConversation conversation;
    return Train(spec, alone, conversation);
  }
  Told Train(const nlohmann::json& spec, AttemptOptions::Alone alone,
             RecordedConversation& conversation) {
    frames::Start start;
    start.token = "token" + std::to_string(++attempts_);
    start.experiment = start.trial = 1;
    start.attempt = static_cast<uint32_t>(attempts_);
    start.spec = testing::Resolved(spec);
    start.data_root = folder_.path();
    start.data_address = "127.0.0.1";
    start.storage = storage_;
    start.resume = resume_;
    const AttemptOutcome outcome = RunAttempt(start, *device_, conversation, {.alone = alone});
    EXPECT_TRUE(outcome.freed.ok()) << outcome.freed;
    return conversation.told;
  }

  testing::TempFolder folder_;
  Device* device_ = nullptr;
  std::string storage_;
  std::optional<frames::Resume> resume_;
  int attempts_ = 0;
};

}  // namespace dt::trainer
