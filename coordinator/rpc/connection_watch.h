// connection_watch.h: cuts off who sends without end and completes neither a call nor a message.
//
// Role:      the distribution's gRPC keeps a header that never ends (CVE-2023-33953, frames of
//            CONTINUATION), also from who has a certificate. What a connection has received is the
//            kernel's count, and whether that led to anything is told by an interceptor.
// Bounds:    limits::kHeaderBytesReceived without a call that is open, kCallBytesReceived with one;
//            a descriptor a connection. Unix sockets are not watched: who reaches those is local.
// Threads:   any may call anything.
// Tests:     tests/coordinator/rpc/connection_watch_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/unique_fd.h"
#include "grpcpp/support/server_interceptor.h"

namespace dt {

class ConnectionWatch {
 public:
  // What its calls tell of a connection.
  struct Progress {
    std::atomic<uint64_t> steps{0};  // calls that began, messages that were received
    std::atomic<int> open{0};        // calls
  };

  // Watches the connection, whose descriptor stays the caller's.
  void Add(int fd);
  // The connection from `peer`, as gRPC writes it: "ipv4:192.0.2.1:40000"; none, or one.
  std::vector<std::shared_ptr<Progress>> Find(std::string_view peer);
  // Once a second: forgets what is closed, and cuts off who has sent too much.
  void Sweep();
  // Ten times a second between: the same for those alone that have sent much, or have not begun a
  // call yet.
  void SweepSuspects();
  size_t size() const;

 private:
  struct Watched {
    UniqueFd fd;       // of its own
    std::string peer;  // as KeyOf gives it
    std::shared_ptr<Progress> progress;
    uint64_t steps = 0;     // when last looked at
    uint64_t received = 0;  // bytes, when last looked at
    uint64_t settled = 0;   // bytes, when something had last come of them
    bool suspect = true;    // looked at between
  };
  enum class Look { kSecond, kBetween };
  // Whether it is still to be watched.
  static bool Stays(Watched& watched, Look look);

  mutable Mutex mutex_;
  std::vector<Watched> all_ ABSL_GUARDED_BY(mutex_);
};

// Tells `watch` of each call. Borrows it.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TellsOfCalls(
    ConnectionWatch& watch);

}  // namespace dt
