#include "tests/hosts/switch/links.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace dt::hosts {
namespace {

constexpr char kEvery[] = "*";

Nanoseconds FromMilliseconds(double milliseconds) {
  return Nanoseconds(static_cast<int64_t>(milliseconds * 1e6));
}

// Returns the same numbers with every standard library, unlike std::uniform_real_distribution.
double Draw(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

}  // namespace

Decision Decide(const Rule& rule, const Draws& draws, Nanoseconds now, Nanoseconds last_due) {
  if (rule.cut) return {.fate = Fate::kCut};
  if (draws.loss * 100 < rule.loss_percent) return {.fate = Fate::kLost};
  if (draws.reorder * 100 < rule.reorder_percent) return {.due = now, .overtakes = true};
  const double delay_ms = rule.delay_ms + (2 * draws.jitter - 1) * rule.jitter_ms;
  return {.due = std::max(now + FromMilliseconds(std::max(delay_ms, 0.0)), last_due)};
}

void Links::AddHost(const std::string& name) {
  if (std::find(hosts_.begin(), hosts_.end(), name) == hosts_.end()) hosts_.push_back(name);
}

absl::Status Links::CheckName(const std::string& name) const {
  if (name == kEvery || std::find(hosts_.begin(), hosts_.end(), name) != hosts_.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no host '", name, "'; there are ",
                                                 absl::StrJoin(hosts_, ", "), ", and * for all"));
}

absl::Status Links::Change(const std::string& from, const std::string& to,
                           void (*change)(Rule&, double), double value) {
  for (const std::string& name : {from, to}) {
    if (absl::Status known = CheckName(name); !known.ok()) return known;
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    for (size_t j = 0; j < hosts_.size(); ++j) {
      const bool chosen =
          (from == kEvery || from == hosts_[i]) && (to == kEvery || to == hosts_[j]);
      if (i != j && chosen) change(WayOf(i, j).rule, value);
    }
  }
  return absl::OkStatus();
}

void Links::Clear() {
  for (auto& [ends, way] : ways_) way.rule = Rule();
}

Decision Links::Take(size_t from, size_t to, Nanoseconds now) {
  Way& way = WayOf(from, to);
  // Three numbers for each frame, whatever the rule is, so that a rule changes no later draw.
  Draws draws;
  draws.loss = Draw(way.generator);
  draws.reorder = Draw(way.generator);
  draws.jitter = Draw(way.generator);
  const Decision decision = Decide(way.rule, draws, now, way.last_due);
  switch (decision.fate) {
    case Fate::kDelivered:
      ++way.counts.delivered;
      if (!decision.overtakes) way.last_due = decision.due;
      break;
    case Fate::kLost:
      ++way.counts.lost;
      break;
    case Fate::kCut:
      ++way.counts.cut;
      break;
  }
  return decision;
}

Links::Way& Links::WayOf(size_t from, size_t to) {
  const auto [found, is_new] = ways_.try_emplace({from, to});
  if (is_new) {
    std::seed_seq seeds{static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32),
                        static_cast<uint32_t>(from), static_cast<uint32_t>(to)};
    found->second.generator.seed(seeds);
  }
  return found->second;
}

}  // namespace dt::hosts
