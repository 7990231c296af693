// outbox.h: what waits for which receiver, and when it is told.
//
// Role:      pure. A receiver is told one notice at a time, in their order; one that fails is left
//            alone for longer each time, and keeps nobody else waiting.
// Threads:   thread-compatible.
// Bounds:    how many wait is the core's business (limits::kNoticesWaiting); here, how many are
//            told at once.
// Tests:     tests/coordinator/notify/outbox_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "dtrain/v1/record.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

struct Settled {
  uint64_t number = 0;
  v1::NoticeSettled::Outcome outcome = v1::NoticeSettled::OUTCOME_UNSPECIFIED;
};

// What a receiver made of a notice.
enum class Reception {
  kTaken,
  kRefused,      // it never will
  kUnavailable,  // perhaps later
};

class Outbox {
 public:
  // `url` is where it goes. Times are steady.
  void Add(v1::Notice notice, const std::string& url, absl::Duration now);

  struct Post {
    std::string url;
    v1::Notice notice;
  };
  // Those whose turn it is; each has to be finished before its receiver is told the next.
  std::vector<Post> TakeDue(absl::Duration now);
  // What came of the notice that was taken for `url`. Returns what need not be told any more.
  std::vector<Settled> Finish(const std::string& url, Reception reception, absl::Duration now);
  // When TakeDue may have more without a Finish before; infinite: not before.
  absl::Duration NextDue() const;

 private:
  struct Waiting {
    v1::Notice notice;
    absl::Duration since;
  };
  struct Receiver {
    std::string origin;
    std::deque<Waiting> waiting;  // never empty
    bool busy = false;
    int failures = 0;  // in a row
    absl::Duration not_before = -absl::InfiniteDuration();
  };

  bool HasPlace(const Receiver& receiver) const;

  std::map<std::string, Receiver> receivers_;  // by address
  std::map<std::string, size_t> busy_;         // by origin
  size_t transfers_ = 0;
  std::string last_;  // whose turn it was; those behind it go first
};

}  // namespace dt
