#include "coordinator/search/history.h"

#include <algorithm>
#include <utility>

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
// Results with more than two objectives that are compared. Most of them may be in the first front:
// 10,000 would take half a second for each proposal. With three objectives these take 15 ms, with
// four at most 100 ms.
constexpr size_t kComparedMost = 1000;

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
  if (found->second.state == State::kEnded) {
    const Outcome& outcome = found->second.outcome;
    ended_.erase({outcome.costs.front(), configuration});
    infeasible_.erase({outcome.violation, configuration});
  }
  found->second = {.at = std::move(at)};
}

void History::AtLevel(uint32_t configuration, int rung, double cost) {
  Configuration& found = Get(configuration);
  const auto known = [&](const auto& each) { return each.first == rung; };
  if (std::any_of(found.rungs.begin(), found.rungs.end(), known)) return;
  found.rungs.emplace_back(rung, cost);
  rungs_[rung].emplace(cost, configuration);
}

void History::End(uint32_t configuration, Outcome outcome) {
  DT_CHECK(!outcome.costs.empty());
  Configuration& found = Get(configuration);
  found.state = State::kEnded;
  objectives_ = outcome.costs.size();
  if (outcome.violation > 0) {
    infeasible_.emplace(outcome.violation, configuration);
  } else {
    ended_.emplace(outcome.costs.front(), configuration);
  }
  found.outcome = std::move(outcome);
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

void History::TakeFirst(const Ranking& ranking, size_t count, std::vector<uint32_t>& to) {
  for (auto each = ranking.begin(); each != ranking.end() && to.size() < count; ++each) {
    to.push_back(each->second);
  }
}

std::vector<uint32_t> History::BestOfSeveral(size_t count) const {
  std::vector<uint32_t> configurations;
  for (const auto& [cost, configuration] : ended_) configurations.push_back(configuration);
  std::sort(configurations.begin(), configurations.end());
  if (objectives_ > 2 && configurations.size() > kComparedMost) {
    configurations.erase(configurations.begin(), configurations.end() - kComparedMost);
  }
  std::vector<Costs> points;
  for (const uint32_t configuration : configurations) {
    points.push_back(configurations_.at(configuration).outcome.costs);
  }
  std::vector<uint32_t> best;
  for (const size_t index : BestOf(points, count)) best.push_back(configurations[index]);
  return best;
}

Evidence History::Split(std::vector<uint32_t> best) const {
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

Evidence History::ByResult() const {
  const size_t good = PartOf(ended_.size() + infeasible_.size(), kGoodPart);
  std::vector<uint32_t> best;
  if (objectives_ > 1) {
    best = BestOfSeveral(good);
  } else {
    TakeFirst(ended_, good, best);
  }
  TakeFirst(infeasible_, good, best);
  return Split(std::move(best));
}

Evidence History::ByRung() const {
  if (rungs_.empty()) return Split({});
  const Ranking* chosen = &rungs_.begin()->second;
  for (const auto& [rung, ranking] : rungs_) {
    if (ranking.size() >= kEnoughAtRung) chosen = &ranking;
  }
  std::vector<uint32_t> best;
  TakeFirst(*chosen, PartOf(chosen->size(), kGoodPartAtRung), best);
  return Split(std::move(best));
}

}  // namespace dt::search
