// standalone.h: dttrain without an agent: `--spec trial.json`, alone or as one of torchrun's ranks.
// What an agent would be told is printed as JSON lines. Checkpoints of a run lie in a folder of its
// own, <storage>/1/<number>: nothing of another run counts for it or is removed by it.
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
  std::string data_root;  // empty: paths are as a shell takes them
  std::string storage = ".";
};
struct StandaloneRun {
  frames::Start start;
  AttemptOptions options;
};
// Reads the file and RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT; rank 0 makes the run's
// folder. Errors: ConfigError; IoError when there can be no folder.
absl::StatusOr<StandaloneRun> ReadStandalone(const StandaloneOptions& options);

// Prints frames to stdout; what is printed counts as registered. Its one wish is to stop where they
// cannot be written: nobody would learn what the run gives.
class PrintedConversation final : public Conversation {
 public:
  explicit PrintedConversation(std::string store_address)
      : store_address_(std::move(store_address)) {}
  void Say(const frames::FromTrainer& frame) override;
  Wish CurrentWish() const override { return written_.ok() ? Wish::kGoOn : Wish::kStop; }
  // Errors: IoError of the first frame that could not be written.
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
