// posts.h: HTTP POSTs in progress, many on one thread.
//
// Role:      libcurl's multi interface with bounds on time and on the bytes of an answer, without
//            redirections, and with TLS that verifies the certificate.
// Threads:   one thread at a time; Wake from any thread.
// Errors:    a post that cannot begin ends as a failed one.
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
  // `ca` is a PEM file of certificate authorities; "": the system's.
  static absl::StatusOr<std::unique_ptr<Posts>> Make(const std::string& ca);
  ~Posts();
  Posts(const Posts&) = delete;
  Posts& operator=(const Posts&) = delete;

  struct Ended {
    std::string url;
    Reception reception = Reception::kUnavailable;
    std::string why;  // empty if the notice was taken; else "HTTP 500", "Connection refused"
  };
  // `signature` signs the body; "": the body is not signed.
  void Begin(const std::string& url, const std::string& id, const std::string& signature,
             std::string body);
  // Waits at most `patience` for an event. Returns the posts that have ended.
  std::vector<Ended> Wait(absl::Duration patience);
  // Ends the current Wait at once, or else the next one.
  void Wake();

 private:
  struct Transfer;
  struct Impl;
  Posts(std::string ca, std::unique_ptr<Impl> impl);

  const std::string ca_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dt
