// pulse.h: checks whether gRPC's threads, which serve every worker's stream, still work: makes a
// call to itself on the same path as other calls, again and again.
//
// Role:      connects the process to itself over a private pair of sockets. A thread asks for the
//            server's health over it once a second.
// Ownership: borrows the server, which must outlive it.
// Threads:   Last may be called from any thread.
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

  // Stops asking.
  void Stop();
  // Returns the steady time of the server's last answer; before the first, the time of the start.
  absl::Duration Last() const { return absl::Nanoseconds(last_ns_.load()); }
  // Blocks until an answer after `last`. Returns false if none came within `patience`.
  bool WaitForTest(absl::Duration last, absl::Duration patience);

 private:
  void Run();
  void Connect();
  void Beat();
  // Returns whether the server answered in time, whatever the answer.
  bool Ask();
  bool Pause();  // waits for the next beat; returns false at the end

  grpc::Server& server_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::atomic<int64_t> last_ns_;
  Mutex mutex_;
  CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dt
