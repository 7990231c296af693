// code_fetcher.h: gets the code of attempts from the coordinator, on a thread of its own: tens of
// MiB over the network and onto a disk must not hold up the lease.
//
// Role:      each attempt gets a fresh folder of its own: a program may write beside its code, and
//            the next one must not see those files. The packed bytes are kept for later attempts,
//            and for every worker of the host with this run folder.
// Layout:    <run folder>/code/<digest>            packed, verified, complete or absent <run
//            folder>/code/<slot>/<token>      of one attempt, until DropCode
// Ownership: owns the thread; the destructor cancels a call and waits for the thread.
// Threads:   the main thread calls. Slow work happens on its own thread.
// Errors:    code that cannot be fetched gives a CodeFailed, after kPatience of tries if another
//            try may help.
// Bounds:    kWaiting requests; kKeptBytes of packed code, the least recently used is dropped
//            first.
// Tests:     tests/e2e/code_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/limits.h"
#include "common/mailbox.h"
#include "common/mutex.h"
#include "common/net/credentials.h"
#include "common/unique_fd.h"
#include "common/wake.h"
#include "dtrain/v1/fleet.grpc.pb.h"
#include "worker/agent/agent.h"

namespace dt {

struct CodeSource {
  std::string folder;                     // <run folder>/code
  std::string slot;                       // this worker's name among those of the run folder
  std::vector<std::string> coordinators;  // one of which leads
  ConnectionCredentials credentials;
  std::string worker;  // the name that it calls with
  std::string token_file = {};
};

class CodeFetcher {
 public:
  // A worker has one attempt; more requests wait only when orders change fast.
  static constexpr size_t kWaiting = 16;
  // Run folders are often in memory, so the cache is small.
  static constexpr uint64_t kKeptBytes = 4 * limits::kCodeBytes;
  // As long as a trainer may take to start.
  static constexpr absl::Duration kPatience = limits::kTrainerStartTimeout;

  using Found = std::variant<CodeReady, CodeFailed>;

  explicit CodeFetcher(CodeSource source);
  ~CodeFetcher();
  CodeFetcher(const CodeFetcher&) = delete;
  CodeFetcher& operator=(const CodeFetcher&) = delete;

  // Returns false, and does nothing, when too many requests wait.
  [[nodiscard]] bool Fetch(FetchCode fetch);
  // Removes the attempt's folder, and stops fetching its code.
  void Drop(const DropCode& drop);
  // Readable when Take has something.
  int wake_fd() const { return wake_.fd(); }
  std::vector<Found> Take();

 private:
  using Request = std::variant<FetchCode, DropCode>;

  void Run();
  void Clean();
  Found FolderFor(const FetchCode& fetch);
  absl::StatusOr<std::string> PackedOf(const v1::Code& code);
  absl::StatusOr<std::string> Download(const v1::Code& code);
  absl::StatusOr<v1::GetCodeResponse> GetPart(v1::Fleet::Stub& stub, const std::string& digest,
                                              uint32_t part);
  void Keep(const std::string& digest, const std::string& packed);
  void RemoveOldest(const std::string& but);
  std::string FolderOf(const AttemptToken& token) const;
  // Waits for `pause`; returns whether there is still a reason to go on.
  bool GoesOnAfter(absl::Duration pause);

  const CodeSource source_;
  size_t at_ = 0;  // the coordinator that the thread asked last
  Wake wake_;
  UniqueFd lock_;  // used by the thread: lock of this worker's folders
  Mailbox<Request> requests_;
  Mailbox<Found> found_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<AttemptToken> current_ ABSL_GUARDED_BY(mutex_);  // its code is being fetched
  bool unwanted_ ABSL_GUARDED_BY(mutex_) = false;                // the current one is no longer
                                                                 // wanted
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // in progress
  std::thread thread_;                                           // last: it uses all of the above
};

}  // namespace dt
