#include "coordinator/search/ladder.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/mutant.h"

namespace dt::search {
namespace {

// Returns the brackets' weights as integers in the same proportion.
std::vector<uint64_t> WeightsOf(const Ladder& ladder) {
  uint64_t common = 1;
  for (uint64_t part = 1; part <= static_cast<uint64_t>(ladder.rungs) + 1; ++part) {
    common = std::lcm(common, part);
  }
  std::vector<uint64_t> weights;
  // The first bracket has all rungs; each further one has one rung less, down to 0 rungs.
  const int last = std::max(0, ladder.rungs + 1 - ladder.brackets);
  for (int left = ladder.rungs; left >= last; --left) {
    uint64_t weight = common / static_cast<uint64_t>(left + 1);
    for (int i = 0; i < left; ++i) weight *= static_cast<uint64_t>(ladder.eta);
    weights.push_back(weight);
  }
  return weights;
}

// Returns how many configurations all brackets have together when `bracket` gets its `count`-th.
uint64_t GivenAt(const std::vector<uint64_t>& weights, size_t bracket, uint64_t count) {
  uint64_t given = 0;
  for (size_t other = 0; other < weights.size(); ++other) {
    // `other` already has each h for which h / weight is below count / weight of `bracket`, or
    // equal if `other` comes first.
    const uint64_t product = count * weights[other];
    given += (other <= bracket ? product : product - 1) / weights[bracket];
  }
  return given;
}

}  // namespace

std::string Ordinal(uint32_t number) {
  const uint32_t tens = number % 100;
  const bool teen = tens >= 11 && tens <= 13;
  const uint32_t last = teen ? 0 : number % 10;
  return absl::StrCat(number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

uint32_t Rung::PlaceOf(uint32_t trial, double cost) const {
  return static_cast<uint32_t>(order_.order_of_key({cost, trial})) + 1;
}

Judgement Rung::Enter(const Ladder& ladder, uint32_t trial, double cost) {
  const Judgement judgement = Judge(ladder, trial, cost);
  costs_.emplace(trial, cost);
  order_.insert({cost, trial});
  return judgement;
}

Judgement Rung::Judge(const Ladder& ladder, uint32_t trial, double cost) const {
  DT_CHECK(!Has(trial));
  const uint32_t before = PlaceOf(trial, cost) - 1;
  const auto entries = static_cast<uint32_t>(costs_.size()) + 1;
  const auto eta = static_cast<uint32_t>(ladder.eta);
  const uint32_t part = (entries + (Mutated(Mutant::kBoundRoundedUp) ? eta - 1 : 0)) / eta;
  const uint32_t allowed = std::max(1u, part);
  return {.place = before + 1, .entries = entries, .allowed = allowed, .goes_on = before < allowed};
}

void Rung::Withdraw(uint32_t trial) {
  const auto found = costs_.find(trial);
  if (found == costs_.end()) return;
  order_.erase(Key{found->second, trial});
  costs_.erase(found);
}

std::string ReasonOf(const Judgement& judgement, int rung, uint64_t step, std::string_view metric,
                     double value) {
  const std::string kept = judgement.allowed == 1
                               ? std::string("the best goes on")
                               : absl::StrCat("the best ", judgement.allowed, " go on");
  return absl::StrFormat("rung %d (step %d): %s %.5g is %s of %d; %s", rung, step,
                         std::string(metric), value, Ordinal(judgement.place), judgement.entries,
                         kept);
}

int BracketOf(const Ladder& ladder, uint32_t configuration) {
  if (ladder.brackets == 1) return 0;
  const std::vector<uint64_t> weights = WeightsOf(ladder);
  for (size_t bracket = 0; bracket < weights.size(); ++bracket) {
    uint64_t low = 1;
    uint64_t high = configuration;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (GivenAt(weights, bracket, middle) < configuration) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (GivenAt(weights, bracket, low) == configuration) return static_cast<int>(bracket);
  }
  DT_CHECK(false && "every configuration has a bracket");
  return 0;
}

RungStep RungOf(const std::vector<RungStep>& rungs, uint64_t step, int entered, Evaluates where) {
  RungStep reached;
  for (const RungStep& rung : rungs) {
    const bool here = where == Evaluates::kAtRungs ? rung.step == step : rung.step <= step;
    const bool known = where == Evaluates::kAnywhere && rung.rung <= entered;
    if (here && !known) reached = rung;
  }
  return reached;
}

int HeadingFor(const std::vector<RungStep>& rungs, uint64_t steps) {
  for (const RungStep& each : rungs) {
    if (each.step > steps) return each.rung;
  }
  return 0;
}

}  // namespace dt::search
