// fleet_stream.h: one gRPC stream at a time to the coordinator, seen from the main thread.
//
// Role:      turns gRPC's callbacks into events on a mailbox, which wakes the main thread.
// Threads:   FleetStream: only the main thread. gRPC's threads only post.
// Ownership: a stream's reactor lives until its Closed event was taken.
// Bounds:    one write and one unread message in flight; a stream posts at most four events at
//            once.
// Tests:     tests/worker/dtworker_test.cc, against a real server; tests/e2e.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mailbox.h"
#include "common/net/credentials.h"
#include "common/wake.h"
#include "dtrain/v1/fleet.grpc.pb.h"

namespace dt {

namespace v1 = ::dtrain::v1;

struct StreamOrders {
  v1::Orders orders;
};
struct StreamWritten {};
struct StreamEnded {
  absl::Status status;
};
using StreamEvent = std::variant<StreamOrders, StreamWritten, StreamEnded>;

class FleetStream {
 public:
  // Reads `token_file`, unless it is "", and the credentials' files at each Connect, so that
  // replacing them drops no stream. REQUIRES: `addresses` is not empty.
  FleetStream(std::vector<std::string> addresses, ConnectionCredentials credentials,
              std::string token_file = "");
  // Cancels the stream and waits until gRPC has released it.
  ~FleetStream();
  FleetStream(const FleetStream&) = delete;
  FleetStream& operator=(const FleetStream&) = delete;

  // Opens a stream to the address after that of the last stream. REQUIRES: !Open().
  void Connect();
  // Returns the address of the newest stream.
  const std::string& address() const { return addresses_[at_]; }
  // Returns whether the newest stream was to the last of the addresses.
  bool AtLastAddress() const { return at_ + 1 == addresses_.size(); }
  bool Open() const { return reactor_ != nullptr; }
  // REQUIRES: Open(), and the last report was answered by StreamWritten.
  void Write(v1::WorkerReport report);
  // Announces that no more reports will come; the server then ends the stream.
  void WritesDone();
  void Cancel();

  // Readable when Take has something.
  int wake_fd() const { return wake_.fd(); }
  // Returns the events since the last call. After StreamEnded the session is not open.
  std::vector<StreamEvent> Take();

 private:
  class Reactor;
  // No more messages will come; the stream's end follows once the main thread releases it.
  struct ReadsEnded {};
  using Posted = std::variant<StreamOrders, StreamWritten, ReadsEnded, StreamEnded>;
  void Handle(Posted&& posted, std::vector<StreamEvent>& events);

  const std::vector<std::string> addresses_;
  const ConnectionCredentials credentials_;
  const std::string token_file_;
  size_t at_;
  Wake wake_;
  Mailbox<Posted> mailbox_;
  bool writable_ = false;  // the stream has not begun to end
  std::unique_ptr<Reactor> reactor_;
};

}  // namespace dt
