// code_keeper.h: the thread that owns the code store, and which experiment needs which code.
//
// Role:      keeps hashing and syncing of tens of MiB off the core thread and gRPC's threads. Never
//            drops code that an experiment or a submission in progress names.
// Ownership: owns the store and the thread.
// Threads:   every method may be called from any thread. `done` runs on the thread that CodeKeeper
//            owns, or never if the method returned false.
// Errors:    a method that returns false did nothing: too many calls wait, or Stop was called.
// Bounds:    kCallsWaiting calls, each with at most one part.
// Tests:     tests/coordinator/code/code_keeper_test.cc
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/mailbox.h"
#include "common/mutex.h"
#include "coordinator/code/code_store.h"

namespace dt {

class CodeKeeper {
 public:
  // 32 MiB of parts. The workers of a gang ask at the same time, and a refused worker asks again.
  static constexpr size_t kCallsWaiting = 32;

  static absl::StatusOr<std::unique_ptr<CodeKeeper>> Start(const std::string& folder);
  ~CodeKeeper() { Stop(); }
  CodeKeeper(const CodeKeeper&) = delete;
  CodeKeeper& operator=(const CodeKeeper&) = delete;

  [[nodiscard]] bool Put(CodePart part, std::function<void(absl::StatusOr<bool>)> done);
  // Calls `done` with NotFound if no experiment names the code.
  [[nodiscard]] bool Get(std::string digest, uint32_t part,
                         std::function<void(absl::StatusOr<CodePart>)> done);
  // Keeps the code while a submission that names it is in progress. Each Hold that returned OK
  // needs one LetGo. Calls `done` with FailedPrecondition if the code is missing.
  [[nodiscard]] bool Hold(std::string digest, std::function<void(absl::Status)> done);
  void LetGo(const std::string& digest);

  // Keeps the code for this experiment until Forget.
  void Name(ExperimentId experiment, const std::string& digest);
  // Drops the code if nothing else names it.
  void Forget(ExperimentId experiment);
  // Returns experiments whose code is missing. REQUIRES: before the first Put, Get, Hold or Forget.
  std::vector<ExperimentId> Missing() const;

  // Finishes the accepted work and ends the thread.
  void Stop();

 private:
  using Work = std::function<void()>;
  explicit CodeKeeper(CodeStore store);
  void Run();
  bool InUse(const std::string& digest) const;

  CodeStore store_;  // used by the thread alone once it runs
  mutable Mutex mutex_;
  std::map<ExperimentId, std::string> named_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> uses_ ABSL_GUARDED_BY(mutex_);  // counts experiments and holds
  Mailbox<Work> waiting_;
  std::thread thread_;
};

}  // namespace dt
