#include "coordinator/core/place/apart.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/detection_limits.h"
#include "common/limits.h"
#include "spec/program.h"

namespace dt {
namespace {

std::vector<HostPair> PairsOf(const std::set<std::string>& hosts) {
  std::vector<HostPair> pairs;
  for (auto one = hosts.begin(); one != hosts.end(); ++one) {
    for (auto other = std::next(one); other != hosts.end(); ++other)
      pairs.emplace_back(*one, *other);
  }
  return pairs;
}

std::set<std::string> HostsOf(const Attempt& recorded) {
  std::set<std::string> hosts;
  for (const GangMember& member : recorded.members) hosts.insert(member.host);
  return hosts;
}

// Returns the first known pair among the gang's hosts; nullopt: they may be together.
std::optional<HostPair> PairWithin(const LiveState& live, const SlotPool& pool,
                                   const std::vector<WorkerIndex>& gang, absl::Duration now) {
  std::set<std::string> hosts;
  for (const WorkerIndex worker : gang) hosts.insert(pool.GetSlot(worker).host);
  for (const auto& [pair, since] : live.apart) {
    if (since + limits::kApart <= now) continue;
    if (hosts.contains(pair.first) && hosts.contains(pair.second)) return pair;
  }
  return std::nullopt;
}

// Returns the pool with the slots of some hosts set busy.
SlotPool Without(const SlotPool& pool, const std::set<std::string>& hosts) {
  SlotPool rest;
  for (const WorkerIndex worker : pool.Members()) {
    const Slot& slot = pool.GetSlot(worker);
    const bool free = pool.IsFree(worker) && !hosts.contains(slot.host);
    rest.Add(slot, free ? SlotUse::kFree : SlotUse::kBusy);
  }
  return rest;
}

struct Search {
  const LiveState& live;
  const SlotPool& pool;
  const Demand& demand;
  const Decision& first;  // the result is no worse than this
  absl::Duration now;
};

std::optional<Decision> Apart(const Search& search, const std::set<std::string>& without,
                              int left) {
  const SlotPool rest = Without(search.pool, without);
  Decision found = Place(rest, search.demand);
  if (found.verdict != Verdict::kPlaced || found.gang.size() < search.first.gang.size() ||
      found.torn > search.first.torn) {
    return std::nullopt;
  }
  const std::optional<HostPair> pair = PairWithin(search.live, rest, found.gang, search.now);
  if (!pair.has_value()) return found;
  if (left == 0) return std::nullopt;
  for (const std::string& host : {pair->second, pair->first}) {
    std::set<std::string> more = without;
    more.insert(host);
    if (std::optional<Decision> apart = Apart(search, more, left - 1)) return apart;
  }
  return std::nullopt;
}

std::string PairText(const LiveState& live, const HostPair& pair, absl::Duration now) {
  const absl::Duration ago = absl::Floor(now - live.apart.at(pair), absl::Seconds(1));
  return absl::StrCat(pair.first, " and ", pair.second, ", which did not reach each other ",
                      absl::FormatDuration(ago), " ago");
}

// Returns `first`, or a placement that separates its known pairs.
Decision Parted(const LiveState& live, const SlotPool& pool, const Demand& demand, Decision first,
                absl::Duration now) {
  if (first.verdict != Verdict::kPlaced || live.apart.empty()) return first;
  const std::optional<HostPair> pair = PairWithin(live, pool, first.gang, now);
  if (!pair.has_value()) return first;
  const std::string text = PairText(live, *pair, now);
  for (const std::string& host : {pair->second, pair->first}) {
    std::optional<Decision> apart =
        Apart({live, pool, demand, first, now}, {host}, limits::kApartTries);
    if (!apart.has_value()) continue;
    absl::StrAppend(&apart->reason, "; without ", host, ", to keep apart ", text);
    return *std::move(apart);
  }
  absl::StrAppend(&first.reason, "; on ", text, ", for want of others");
  return first;
}

}  // namespace

void NoteApart(LiveState& live, const LiveAttempt& attempt, const Attempt& recorded,
               v1::Cause cause, absl::Duration now) {
  const bool stands = attempt.Is<Training>() || attempt.Is<Connecting>();
  const bool named = cause == v1::CAUSE_NETWORK;
  // If its hosts reach each other, as they report, the fault lies elsewhere.
  const bool hang = cause == v1::CAUSE_HANG && stands && !attempt.question.complete;
  if (cause != v1::CAUSE_COLLECTIVE && !hang && !named) return;
  std::erase_if(live.apart,
                [now](const auto& entry) { return entry.second + limits::kApart <= now; });
  const std::set<HostPair>& cut = attempt.question.cut;
  std::vector<HostPair> pairs(cut.begin(), cut.end());
  if (!named) {
    const std::set<std::string> hosts = HostsOf(recorded);
    if (hosts.size() > limits::kApartHosts) return;
    pairs = PairsOf(hosts);
  }
  for (HostPair& pair : pairs) {
    live.met.erase(pair);
    if (live.apart.size() < limits::kApartPairs) live.apart[std::move(pair)] = now;
  }
}

bool HaveMet(const LiveState& live, const LiveAttempt& attempt, const Attempt& recorded) {
  if (spec::IsProgram(attempt.spec)) return false;
  for (const RankState& rank : attempt.ranks) {
    if (rank.worker == kNoWorker || !live.workers[rank.worker].round_trip.has_value()) return false;
  }
  const std::set<std::string> hosts = HostsOf(recorded);
  if (hosts.size() < 2 || hosts.size() > limits::kApartHosts) return false;
  const std::vector<HostPair> pairs = PairsOf(hosts);
  return std::all_of(pairs.begin(), pairs.end(),
                     [&live](const HostPair& pair) { return live.met.contains(pair); });
}

void NoteTogether(LiveState& live, LiveAttempt& attempt, const Attempt& recorded,
                  absl::Duration now) {
  const auto* training = std::get_if<Training>(&attempt.phase);
  if (training == nullptr || training->last_step != now) return;
  if (live.apart.empty() && attempt.met_noted) return;
  attempt.met_noted = true;
  const std::set<std::string> hosts = HostsOf(recorded);
  for (HostPair& pair : PairsOf(hosts)) {
    live.apart.erase(pair);
    if (hosts.size() > limits::kApartHosts || live.met.size() >= limits::kMetPairs) continue;
    live.met.insert(std::move(pair));
  }
}

Decision PlaceApart(const LiveState& live, const SlotPool& pool, const Demand& demand,
                    absl::Duration now) {
  return Parted(live, pool, demand, Place(pool, demand), now);
}

Decision KeepApart(const LiveState& live, const SlotPool& pool, const Reservation& reserved,
                   const Demand& demand, Decision chosen, absl::Duration now) {
  if (live.apart.empty()) return chosen;
  SlotPool all;
  for (const WorkerIndex worker : pool.Members()) {
    const bool free = pool.IsFree(worker) || reserved.slots.IsFree(worker);
    all.Add(pool.GetSlot(worker), free ? SlotUse::kFree : SlotUse::kBusy);
  }
  return Parted(live, all, demand, std::move(chosen), now);
}

}  // namespace dt
