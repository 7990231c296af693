// standalone.h: dttrain without an agent: `--spec trial.json`, alone or as one of torchrun's ranks.
// Prints the frames for an agent as JSON lines. Each run's checkpoints are in a folder of its own,
// <storage>/1/<number>, so that no run counts or removes another's.
//
// Tests: tests/worker/trainer/run/standalone_test.cc
#pragma once

#include <string>

#include "common/status.h"
#include "worker/trainer/link/conversation.h"
#include "worker/trainer/run/train.h"

namespace dt::trainer {

struct StandaloneOptions {
  std::string spec_file;
  std::string data_root;  // empty: paths are relative to the working directory
  std::string storage = ".";
};
struct StandaloneRun {
  frames::Start start;
  AttemptOptions options;
};
// Reads the file and RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT; rank 0 makes the run's
// folder. Errors: ConfigError; IoError if the folder cannot be made.
absl::StatusOr<StandaloneRun> ReadStandalone(const StandaloneOptions& options);

// Prints frames to stdout; a printed checkpoint counts as registered. It asks for a stop if
// frames cannot be written, since then nobody would see the results.
class PrintedConversation final : public Conversation {
 public:
  explicit PrintedConversation(std::string store_address)
      : store_address_(std::move(store_address)) {}
  void Say(const frames::FromTrainer& frame) override;
  StopRequest CurrentStopRequest() const override {
    return written_.ok() ? StopRequest::kNone : StopRequest::kStop;
  }
  // Returns the IoError of the first frame that could not be written, or OK.
  const absl::Status& written() const { return written_; }
  absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds) override {
    return store_address_;
  }
  void AbortWith(std::function<void()>) override {}
  std::optional<uint64_t> RegisteredStep() const override { return registered_; }
  void AwaitRegistered(uint64_t, std::chrono::milliseconds) override {}

 private:
  const std::string store_address_;
  std::optional<uint64_t> registered_;
  absl::Status written_;
};

}  // namespace dt::trainer
