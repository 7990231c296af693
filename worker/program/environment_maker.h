// environment_maker.h: makes a program's environment before its attempt goes on.
//
// Role:      starts the process that resolves and makes (worker/environments/maker.h), shows what
//            it does, and holds the lock of the environment while the program runs.
// Ownership: the process, its scratch folder and the lock.
// Errors:    as worker/environments/kinds.h.
// Invariant: rank 0 resolves. Every rank makes what the coordinator keeps for the experiment, so
//            all attempts have the same packages.
// Tests:     tests/worker/program/made_environment_test.cc
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/status.h"
#include "common/unique_fd.h"
#include "worker/environments/maker.h"
#include "worker/frames/frames.h"

namespace dt::program {

// The place of environments on this host.
struct EnvironmentStore {
  std::string folder;
  uint64_t bytes_max = 0;
};

class EnvironmentMaker {
 public:
  using Say = std::function<void(const frames::FromTrainer&)>;
  using Log = std::function<void(const std::string&)>;
  // `scratch`: a folder for this alone, made and removed here. `variables`: of the tools.
  EnvironmentMaker(std::string token, environments::Wanted wanted, EnvironmentStore store,
                   std::string scratch, Environment variables, Say say, Log log);
  ~EnvironmentMaker();
  EnvironmentMaker(const EnvironmentMaker&) = delete;
  EnvironmentMaker& operator=(const EnvironmentMaker&) = delete;

  // `lock`: the experiment's packages; "": not resolved yet. Then `resolves` says whether this rank
  // resolves them.
  absl::Status Begin(const std::string& lock, bool resolves, absl::Duration now);
  // Takes the experiment's packages, which it waits for.
  absl::Status TakeLock(const std::string& lock, absl::Duration now);
  // Returns nothing while it goes on, otherwise how it ended.
  std::optional<absl::Status> Serve(absl::Duration now);

  std::vector<pollfd> Descriptors() const;
  absl::Duration NextDeadline() const { return next_word_; }
  // Returns the folder of the environment, which stays while this object lives; "": of modules.
  // REQUIRES: Serve returned OK.
  const std::string& folder() const { return folder_; }
  // Returns the change that its modules make. REQUIRES: Serve returned OK.
  const environments::Loaded& loaded() const { return loaded_; }

 private:
  enum class Stage { kResolving, kAwaiting, kMaking, kDone };
  absl::Status Start(const std::string& lock);
  std::optional<absl::Status> TakeAnswer(absl::Duration now);
  void SayProgress(absl::Duration now);
  std::string Doing(absl::Duration now) const;

  const std::string token_;
  const environments::Wanted wanted_;
  const EnvironmentStore store_;
  const std::string scratch_;
  const Environment variables_;
  const Say say_;
  const Log log_;
  Stage stage_ = Stage::kResolving;
  absl::Duration since_;
  absl::Duration next_word_ = absl::InfiniteDuration();
  std::string content_;  // of the environment, in words
  pid_t process_ = -1;
  UniqueFd answer_;   // the process's output
  std::string text_;  // read of it
  UniqueFd lock_;
  std::string folder_;
  environments::Loaded loaded_;
};

}  // namespace dt::program
