// pulse.h: whether gRPC's threads, which serve every worker's stream, still do: a call of its own
// that goes the way of others, again and again.
//
// Role:      a connection of the process to itself, over a pair of sockets that nobody else has,
//            and a thread that asks the server's health over it once a second.
// Ownership: borrows the server, which must outlive it.
// Threads:   Last from any.
// Tests:     tests/coordinator/rpc/pulse_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/server.h"

namespace dt {

class Pulse {
 public:
  explicit Pulse(grpc::Server& server);
  ~Pulse() { Stop(); }
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  // Asks no more.
  void Stop();
  // When the server last answered, on the clock's steady time; at first when this began.
  absl::Duration Last() const { return absl::Nanoseconds(last_ns_.load()); }
  // Blocks until it answered after `last`; false: it did not within `patience`.
  bool WaitForTest(absl::Duration last, absl::Duration patience);

 private:
  void Run();
  void Connect();
  void Beat();
  // Whether the server answered in time, whatever it said.
  bool Ask();
  bool Pause();  // until it is time to ask again; false: it is over

  grpc::Server& server_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::atomic<int64_t> last_ns_;
  Mutex mutex_;
  CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dt
