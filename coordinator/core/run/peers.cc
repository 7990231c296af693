// peers.cc: see peers.h.
#include "coordinator/core/run/peers.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "coordinator/core/keep/orders.h"
#include "coordinator/core/keep/timers.h"

namespace dt {
namespace {

HostPair PairOf(const std::string& one, const std::string& other) {
  return one < other ? HostPair{one, other} : HostPair{other, one};
}

// Returns the host of a rank.
const std::string& HostOf(const LiveState& live, const LiveAttempt& attempt, int32_t rank) {
  return live.workers[attempt.ranks[rank].worker].hello.host();
}

}  // namespace

bool AskPeers(Turn& turn, LiveAttempt& attempt) {
  PeerQuestion& question = attempt.question;
  if (question.number > 0) return false;
  std::vector<int32_t> asked = FirstRanksOfHosts(turn.live(), attempt);
  const size_t hosts = asked.size();
  // A worker of an older version has never answered a ping, and would not answer this.
  std::erase_if(asked, [&](int32_t rank) {
    const Worker& worker = turn.live().workers[attempt.ranks[rank].worker];
    return worker.stream == 0 || !worker.round_trip.has_value();
  });
  if (asked.size() < 2 || PeerPort(attempt).empty()) return false;
  question.number = ++turn.live().questions;
  question.until = turn.now.steady + limits::kPeersAsked;
  question.asks_all = asked.size() == hosts && hosts <= limits::kPeersPerCheck + 1;
  question.open = std::move(asked);
  for (const int32_t rank : question.open) {
    MarkOrdersDue(turn.live(), turn.live().workers[attempt.ranks[rank].worker]);
  }
  ArmAttempt(turn.live(), attempt);
  return true;
}

bool GoOnMeeting(Turn& turn, LiveAttempt& attempt) {
  const auto* connecting = std::get_if<Connecting>(&attempt.phase);
  if (connecting == nullptr || connecting->joined || !attempt.met) return false;
  if (!attempt.question.complete || !attempt.question.cut.empty()) return false;
  attempt.met = false;
  attempt.question = {};
  ArmAttempt(turn.live(), attempt);
  return true;
}

void TakePeerAnswer(Turn& turn, const Worker& worker, const v1::PeerCheckResult& result) {
  if (worker.attempt == nullptr) return;
  LiveAttempt& attempt = *worker.attempt;
  PeerQuestion& question = attempt.question;
  if (question.number == 0 || result.number() != question.number || !attempt.Open()) return;
  const auto mine = std::find(question.open.begin(), question.open.end(), worker.rank);
  if (mine == question.open.end()) return;
  question.open.erase(mine);
  for (const int32_t rank : FirstRanksOfHosts(turn.live(), attempt)) {
    const std::string address = PeerAddress(turn.live(), attempt, rank);
    const bool cut = rank != worker.rank &&
                     std::find(result.unreachable().begin(), result.unreachable().end(), address) !=
                         result.unreachable().end();
    if (cut) question.cut.insert(PairOf(worker.hello.host(), HostOf(turn.live(), attempt, rank)));
  }
  if (!question.open.empty()) return;
  question.complete = question.asks_all;
  question.until = turn.now.steady;
  ArmAttempt(turn.live(), attempt);
}

std::string PeersText(const LiveState& live, const LiveAttempt& attempt) {
  const PeerQuestion& question = attempt.question;
  if (question.cut.empty()) {
    if (question.complete) return ": its hosts reach each other";
    const auto* connecting = std::get_if<Connecting>(&attempt.phase);
    const bool meets = connecting != nullptr && !connecting->joined;
    return meets ? "; can the hosts reach each other's --data-address?" : "";
  }
  const auto& [one, other] = *question.cut.begin();
  std::string addresses;
  for (const int32_t rank : FirstRanksOfHosts(live, attempt)) {
    const std::string& host = HostOf(live, attempt, rank);
    if (host != one && host != other) continue;
    absl::StrAppend(&addresses, addresses.empty() ? "" : " and ",
                    live.workers[attempt.ranks[rank].worker].hello.data_address());
  }
  const size_t more = question.cut.size() - 1;
  return absl::StrCat(
      ": ", one, " and ", other, " do not reach each other (", addresses, ")",
      more > 0 ? absl::StrCat(", nor do ", more, more == 1 ? " other pair" : " other pairs")
               : std::string(),
      "; look at the network between their --data-address");
}

}  // namespace dt
