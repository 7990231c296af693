// outbox.h: the notices that wait for each receiver, and when each is sent.
//
// Role:      pure. Each receiver gets one notice at a time, in order. The pause after a failure
//            grows with each failure and delays no other receiver.
// Threads:   thread-compatible.
// Bounds:    the core bounds how many notices wait (limits::kNoticesWaiting); this class bounds how
//            many are sent at the same time.
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

// A receiver's answer to a notice.
enum class Reception {
  kTaken,
  kRefused,      // the receiver will never take it
  kUnavailable,  // the receiver may take it later
};

class Outbox {
 public:
  // Adds a notice for `url`. All times here are steady.
  void Add(v1::Notice notice, const std::string& url, absl::Duration now);

  struct Post {
    std::string url;
    v1::Notice notice;
  };
  // Returns the notices that are due. Each needs a Finish before its receiver's next one is due.
  std::vector<Post> TakeDue(absl::Duration now);
  // Takes the outcome of the notice that was sent to `url`. Returns the notices that need no
  // further try.
  std::vector<Settled> Finish(const std::string& url, Reception reception, absl::Duration now);
  // Returns when TakeDue may return more without another Finish; infinite: only after a Finish.
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
  std::string last_;  // address of the last notice sent; the next search starts behind it
};

}  // namespace dt
