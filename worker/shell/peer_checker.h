// peer_checker.h: finds out which hosts of a gang answer on the data network, on a thread of its
// own: a host that is cut off answers nothing, and the main thread must renew the lease meanwhile.
//
// Threads:   the main thread calls; the thread that Start made connects.
// Ownership: never destroyed, since a thread that resolves a name may hang until its process ends.
// Bounds:    one question besides the current one; limits::kPeerAnswers for all addresses of it.
// Tests:     tests/worker/shell/peer_checker_test.cc
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/mailbox.h"
#include "common/wake.h"
#include "worker/agent/agent.h"

namespace dt {

// Returns those of `addresses` (host:port) whose host does not answer within `patience`. A refused
// connection is an answer.
std::vector<std::string> FindUnreachable(const std::vector<std::string>& addresses,
                                         absl::Duration patience);

class PeerChecker {
 public:
  static PeerChecker& Start();
  PeerChecker(const PeerChecker&) = delete;
  PeerChecker& operator=(const PeerChecker&) = delete;

  // Drops the question if too many wait: the coordinator does not wait for the answer for long.
  void Check(CheckPeers check);
  // Readable when Take has something.
  int wake_fd() const { return wake_.fd(); }
  // Returns the answers since the last call.
  std::vector<PeersChecked> Take();

 private:
  PeerChecker();
  void Run();

  Wake wake_;
  Mailbox<CheckPeers> checks_;
  Mailbox<PeersChecked> answers_;
  std::thread thread_;
};

}  // namespace dt
