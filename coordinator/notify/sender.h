// sender.h: the thread that sends notices of decisions to receivers.
//
// Role:      the shell around Outbox: takes durable notices, posts them, and reports the outcome of
//            each. A notice that was not settled when the process ended is sent again after the
//            next start; receivers recognise it by its id.
// Threads:   Tell and Failing may be called from any thread and never block. The rest runs on one
//            thread of its own.
// Errors:    a receiver's errors affect only that receiver; the log shows their beginning and end.
// Bounds:    the core bounds how many notices wait.
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
  Receivers receivers;      // the hosts that experiments may notify
  v1::Notify own_receiver;  // the coordinator's own receiver; no url: not set
  std::string ca;           // PEM file; "": the system's authorities
  std::string key;          // signs notices; "": notices are not signed
};

class Sender {
 public:
  // `settle` reports that a notice needs no further try. It returns false if it cannot take the
  // report now; Sender then asks again.
  using Settle = std::function<bool(const Settled&)>;
  static absl::StatusOr<std::unique_ptr<Sender>> Start(SenderOptions options, const Clock& clock,
                                                       Settle settle);
  // Cuts off posts in progress.
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void Tell(const v1::Notice& notice);

  // Receivers that do not take notices now, in a form that may be shown, and the reason.
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
  absl::Duration LongestWait() const;

  const SenderOptions options_;
  const Clock& clock_;
  const Settle settle_;
  std::unique_ptr<Posts> posts_;

  mutable Mutex mutex_;
  std::vector<v1::Notice> told_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::string> bad_ ABSL_GUARDED_BY(mutex_);  // failing receivers and why

  // Only the thread uses these.
  Outbox outbox_;
  std::vector<Settled> settled_;  // not yet taken by settle_
  std::thread thread_;            // last: it uses all of the above
};

}  // namespace dt
