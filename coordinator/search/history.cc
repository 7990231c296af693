#include "coordinator/search/history.h"

#include <algorithm>

#include "common/check.h"
#include "common/limits.h"
#include "common/mutant.h"

namespace dt::search {
namespace {

constexpr size_t kGoodMost = 25;
constexpr size_t kGoodPart = 10;
constexpr size_t kGoodPartAtRung = 4;
// With fewer configurations, a rung says too little about the space.
constexpr size_t kEnoughAtRung = 4;

size_t PartOf(size_t count, size_t part) { return std::min(kGoodMost, (count + part - 1) / part); }

}  // namespace

History::Configuration& History::Get(uint32_t configuration) {
  const auto found = configurations_.find(configuration);
  DT_CHECK(found != configurations_.end() && found->second.state == State::kOpen);
  return found->second;
}

void History::Open(uint32_t configuration, Point at) {
  tried_.insert(at);
  const auto [found, added] = configurations_.try_emplace(configuration);
  DT_CHECK(added || found->second.state != State::kOpen);
  // A retry begins anew: its earlier rungs no longer count.
  for (const auto& [rung, cost] : found->second.rungs) rungs_[rung].erase({cost, configuration});
  if (found->second.state == State::kFailed) --failed_;
  if (found->second.state == State::kEnded) ended_.erase({found->second.cost, configuration});
  found->second = {.at = std::move(at)};
}

void History::AtLevel(uint32_t configuration, int rung, double cost) {
  Configuration& found = Get(configuration);
  const auto known = [&](const auto& each) { return each.first == rung; };
  if (std::any_of(found.rungs.begin(), found.rungs.end(), known)) return;
  found.rungs.emplace_back(rung, cost);
  rungs_[rung].emplace(cost, configuration);
}

void History::End(uint32_t configuration, double cost) {
  Configuration& found = Get(configuration);
  found.state = State::kEnded;
  found.cost = cost;
  ended_.emplace(cost, configuration);
}

void History::Fail(uint32_t configuration) {
  Get(configuration).state = State::kFailed;
  ++failed_;
}

void History::Forget(uint32_t configuration) {
  Configuration& found = Get(configuration);
  found.state = State::kLeft;
  if (found.rungs.empty()) configurations_.erase(configuration);
}

Evidence History::Split(const Ranking& ranking, size_t good) const {
  std::vector<uint32_t> best;
  for (auto each = ranking.begin(); best.size() < good; ++each) best.push_back(each->second);
  std::sort(best.begin(), best.end());
  Evidence evidence;
  for (const uint32_t configuration : best) {
    evidence.good.push_back(&configurations_.at(configuration).at);
  }
  for (auto each = configurations_.rbegin();
       each != configurations_.rend() && evidence.bad.size() < limits::kTpeBadMost; ++each) {
    if (std::binary_search(best.begin(), best.end(), each->first)) continue;
    const bool open = each->second.state == State::kOpen && each->second.rungs.empty();
    if (open && Mutated(Mutant::kLiarLeftOut)) continue;
    evidence.bad.push_back(&each->second.at);
    if (open) ++evidence.open;
  }
  std::reverse(evidence.bad.begin(), evidence.bad.end());
  return evidence;
}

Evidence History::ByResult() const { return Split(ended_, PartOf(ended_.size(), kGoodPart)); }

Evidence History::ByRung() const {
  if (rungs_.empty()) return Split({}, 0);
  const Ranking* chosen = &rungs_.begin()->second;
  for (const auto& [rung, ranking] : rungs_) {
    if (ranking.size() >= kEnoughAtRung) chosen = &ranking;
  }
  return Split(*chosen, PartOf(chosen->size(), kGoodPartAtRung));
}

}  // namespace dt::search
