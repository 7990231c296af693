// code_keeper.h: the thread that has the store of code, and who needs what of it.
//
// Role:      hashing and syncing tens of MiB belongs neither on the core thread nor on gRPC's. What
//            an experiment or a submission under way names is never dropped.
// Ownership: owns the store and the thread.
// Threads:   every method from any thread; `done` runs on the thread this owns, or not at all where
//            the method returned false.
// Errors:    a method that returns false did nothing: too many calls wait, or it was stopped.
// Bounds:    kCallsWaiting calls, each with one part at most.
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
  // 32 MiB of parts: a gang of workers asks at once, and asks again where it is refused.
  static constexpr size_t kCallsWaiting = 32;

  static absl::StatusOr<std::unique_ptr<CodeKeeper>> Start(const std::string& folder);
  ~CodeKeeper() { Stop(); }
  CodeKeeper(const CodeKeeper&) = delete;
  CodeKeeper& operator=(const CodeKeeper&) = delete;

  [[nodiscard]] bool Put(CodePart part, std::function<void(absl::StatusOr<bool>)> done);
  // NotFound where no experiment names it.
  [[nodiscard]] bool Get(std::string digest, uint32_t part,
                         std::function<void(absl::StatusOr<CodePart>)> done);
  // Keeps the code while a submission that names it is under way: until LetGo, once for each Hold
  // that said OK. FailedPrecondition where it is not there.
  [[nodiscard]] bool Hold(std::string digest, std::function<void(absl::Status)> done);
  void LetGo(const std::string& digest);

  // This experiment names it, from now until Forget.
  void Name(ExperimentId experiment, const std::string& digest);
  // Drops the code, where nothing names it any more.
  void Forget(ExperimentId experiment);
  // Experiments whose code is not there. REQUIRES: before the first call of the above.
  std::vector<ExperimentId> Missing() const;

  // Does what was accepted and ends.
  void Stop();

 private:
  using Work = std::function<void()>;
  explicit CodeKeeper(CodeStore store);
  void Run();
  bool InUse(const std::string& digest) const;

  CodeStore store_;  // the thread's own, once it runs
  mutable Mutex mutex_;
  std::map<ExperimentId, std::string> named_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> uses_ ABSL_GUARDED_BY(mutex_);  // experiments and holds
  Mailbox<Work> waiting_;
  std::thread thread_;
};

}  // namespace dt
