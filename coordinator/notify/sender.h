// sender.h: the thread that tells receivers what was decided.
//
// Role:      the shell around Outbox: takes notices that are durable, posts them, and says what
//            came of each. A notice that was told and not yet settled when the process ended is
//            told again after the next start: receivers know it by its id.
// Threads:   Tell and Failing from any, never block. All else is on one thread of its own.
// Errors:    a receiver's are its own; the log has them when they begin and when they end.
// Bounds:    of what waits, the core's.
// Tests:     tests/coordinator/notify/sender_test.cc
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "coordinator/access/receivers.h"
#include "coordinator/notify/outbox.h"
#include "coordinator/notify/posts.h"

namespace dt {

struct SenderOptions {
  JournalId journal = 0;
  Receivers receivers;      // whom experiments may have told
  v1::Notify own_receiver;  // of the coordinator; no url: there is none
  std::string ca;           // PEM file; "": the system's authorities
  std::string key;          // notices are signed with it; "": not
};

class Sender {
 public:
  // `settle` says that a notice need not be told any more; false: not now, ask again.
  using Settle = std::function<bool(const Settled&)>;
  static absl::StatusOr<std::unique_ptr<Sender>> Start(SenderOptions options, const Clock& clock,
                                                       Settle settle);
  // What is under way is cut off.
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void Tell(const v1::Notice& notice);

  // Receivers that do not take notices now, as they may be shown, and why.
  struct FailingReceiver {
    std::string receiver;
    std::string why;
  };
  std::vector<FailingReceiver> Failing() const;

 private:
  Sender(SenderOptions options, const Clock& clock, Settle settle, std::unique_ptr<Posts> posts);
  void Run();
  void Take(std::vector<v1::Notice> told);
  void SettleAll();
  void Note(const Posts::Ended& ended);
  absl::Duration Patience() const;

  const SenderOptions options_;
  const Clock& clock_;
  const Settle settle_;
  std::unique_ptr<Posts> posts_;

  mutable Mutex mutex_;
  std::vector<v1::Notice> told_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::string> bad_ ABSL_GUARDED_BY(mutex_);  // receivers that fail, and why

  // The thread alone uses these.
  Outbox outbox_;
  std::vector<Settled> settled_;  // and not yet taken
  std::thread thread_;            // last: it uses all of the above
};

}  // namespace dt
