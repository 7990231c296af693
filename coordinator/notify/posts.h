// posts.h: HTTP POSTs under way, many on one thread.
//
// Role:      libcurl's multi interface with bounds: time, bytes of an answer, no redirections, TLS
//            with a certificate that is verified.
// Threads:   one at a time, Wake from any.
// Errors:    a post that cannot begin ends as one that failed.
// Tests:     tests/coordinator/notify/sender_test.cc
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/notify/outbox.h"

namespace dt {

class Posts {
 public:
  // `ca` is a PEM file of authorities; "": those of the system.
  static absl::StatusOr<std::unique_ptr<Posts>> Make(const std::string& ca);
  ~Posts();
  Posts(const Posts&) = delete;
  Posts& operator=(const Posts&) = delete;

  struct Ended {
    std::string url;
    Reception reception = Reception::kUnavailable;
    std::string why;  // unless it was taken: "HTTP 500", "Connection refused"
  };
  // `signature` of the body; "": it is not signed.
  void Begin(const std::string& url, const std::string& id, const std::string& signature,
             std::string body);
  // Waits at most `patience` for something to happen; what has ended.
  std::vector<Ended> Wait(absl::Duration patience);
  // Ends a Wait at once, or the next one.
  void Wake();

 private:
  struct Transfer;
  struct Impl;
  Posts(std::string ca, std::unique_ptr<Impl> impl);

  const std::string ca_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dt
