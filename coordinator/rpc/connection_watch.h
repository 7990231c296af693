// connection_watch.h: cuts off peers that send without end and complete neither a call nor a
// message.
//
// Role:      the distribution's gRPC stores a header that never ends (CVE-2023-33953, CONTINUATION
//            frames), also from peers with a certificate. The kernel counts the bytes received on a
//            connection; calls report themselves and their messages: an interceptor does it for
//            those with one message, a worker's stream does it itself. gRPC hands each message of
//            an intercepted call to its threads twice.
// Bounds:    limits::kHeaderBytesReceived without an open call, kCallBytesReceived with one; one
//            descriptor for each connection. Unix sockets are not watched, since their peers are
//            local.
// Threads:   any thread may call any method.
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
  // Counts reported by a connection's calls.
  struct Progress {
    std::atomic<uint64_t> steps{0};  // calls begun and messages received
    std::atomic<int> open{0};        // open calls
  };

  // Watches the connection. The caller keeps its descriptor.
  void Add(int fd);
  // Returns the connection from `peer`, in gRPC's form "ipv4:192.0.2.1:40000", or nothing.
  std::vector<std::shared_ptr<Progress>> Find(std::string_view peer);
  // Forgets closed connections and cuts off those that sent too much. Called once a second.
  void Sweep();
  // Does the same for connections that sent much or have not begun a call yet. Called ten times a
  // second between sweeps.
  void SweepSuspects();
  size_t size() const;

 private:
  struct Watched {
    UniqueFd fd;       // a duplicate
    std::string peer;  // in KeyOf's form
    std::shared_ptr<Progress> progress;
    uint64_t steps = 0;     // at the last look
    uint64_t received = 0;  // bytes, at the last look
    uint64_t settled = 0;   // bytes, when a call or message last completed
    bool suspect = true;    // swept between the full sweeps too
  };
  enum class Look { kSecond, kBetween };
  // Returns whether to keep watching the connection.
  static bool Stays(Watched& watched, Look look);

  mutable Mutex mutex_;
  std::vector<Watched> all_ ABSL_GUARDED_BY(mutex_);
};

// Reports one call to the watch, for as long as it lives.
class WatchedCall {
 public:
  WatchedCall(ConnectionWatch& watch, std::string_view peer);
  ~WatchedCall();
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

  void NoteMessage() {
    for (const auto& each : connections_) ++each->steps;
  }

 private:
  const std::vector<std::shared_ptr<ConnectionWatch::Progress>> connections_;
};

// Returns a factory of interceptors that report each call to `watch`, which it borrows. With
// kTellThemselves calls that stream are left out, since each has a WatchedCall of its own.
enum class Streams { kTellThemselves, kIntercepted };
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> TellsOfCalls(
    ConnectionWatch& watch, Streams streams);

}  // namespace dt
