// peers.h: asks the hosts of a gang that makes no progress which of them reach each other, so that
// its end names the pair that does not.
//
// Role:  the question is in the orders of the first rank of each host (keep/orders.cc) until all
//        have answered, or limits::kPeersAsked has passed. Progress takes the question back.
// Tests: tests/coordinator/core/peers_test.cc
#pragma once

#include <string>

#include "coordinator/core/model/turn.h"

namespace dt {

// Begins to ask. Returns false if nobody can answer, or all was asked already: then the attempt may
// end. REQUIRES: the attempt's time is over.
bool AskPeers(Turn& turn, LiveAttempt& attempt);
// Gives the time of hosts that never met to ranks that did not meet in the shorter time, if their
// hosts all say that they reach each other: they are only slow. Returns false otherwise.
bool GoOnMeeting(Turn& turn, LiveAttempt& attempt);
// Takes the answer of this worker. If it was the last one, the attempt's end follows.
void TakePeerAnswer(Turn& turn, const Worker& worker, const v1::PeerCheckResult& result);
// Returns the end of the attempt's message: ": host-a and host-b do not reach each other (10.0.0.1
// and 10.0.0.2)…", or ": its hosts reach each other". If that is not known: a question to the user
// where ranks did not meet, else "".
std::string PeersText(const LiveState& live, const LiveAttempt& attempt);

}  // namespace dt
