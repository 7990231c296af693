#include "bench/search/population.h"

#include <array>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "bench/search/problems.h"
#include "common/draw.h"
#include "coordinator/search/pbt.h"

namespace dt::bench {
namespace {

constexpr uint64_t kSteps = 200;
constexpr double kNoise = 0.05;  // the largest error of an observation

// Two layers with a learning rate each: the curvature of their directions.
constexpr std::array<std::array<double, 3>, 2> kLayers = {{{1, 0.3, 0.1}, {0.3, 0.1, 0.03}}};

struct Training {
  // Squared distances to the optimum, by layer and direction.
  std::array<std::array<double, 3>, 2> apart = {{{1, 1, 1}, {1, 1, 1}}};

  void Step(const spec::Point& rates) {
    for (size_t layer = 0; layer < kLayers.size(); ++layer) {
      for (size_t i = 0; i < kLayers[layer].size(); ++i) {
        const double moved = rates[layer] * kLayers[layer][i];
        apart[layer][i] = apart[layer][i] * (1 - moved) * (1 - moved) + moved * rates[layer];
      }
    }
  }
  double Loss() const {
    double loss = 0;
    for (size_t layer = 0; layer < kLayers.size(); ++layer) {
      for (size_t i = 0; i < kLayers[layer].size(); ++i) {
        loss += 0.5 * kLayers[layer][i] * apart[layer][i];
      }
    }
    return loss;
  }
};

spec::Space Rates() {
  spec::Dimension rate{.path = "first", .low = 1e-3, .high = 1, .log = true};
  spec::Space space{{rate, rate}};
  space.dimensions[1].path = "second";
  return space;
}

struct Member {
  spec::Point rates;
  Training training;
  uint64_t step = 0;
};

// The members at a share: their costs and the state of each.
struct Share {
  uint64_t step = 0;
  search::Rung entries;
  std::vector<Member> saved;
};

class PopulationRun {
 public:
  PopulationRun(uint32_t members, Members kind, uint64_t seed)
      : kind_(kind), seed_(seed), members_(members) {
    for (const search::RungStep& each : spec::RungSteps(population_, kSteps, 0)) {
      shares_.push_back({.step = each.step, .saved = std::vector<Member>(members)});
    }
  }

  double Run() {
    for (uint32_t number = 1; number <= members_.size(); ++number) {
      members_[number - 1].rates =
          spec::DrawUniform(space_, {.seed = seed_, .configuration = number});
      Head(number, 0, 0);
    }
    while (!due_.empty()) {
      const auto [now, number, share] = due_.top();
      due_.pop();
      Member& member = members_[number - 1];
      for (; member.step < StepAt(share); ++member.step) member.training.Step(member.rates);
      if (share == shares_.size()) continue;
      if (kind_ == Members::kLearn) Compare(number, share);
      Head(number, share + 1, now);
    }
    return LossOfTheBest();
  }

 private:
  uint64_t StepAt(size_t share) const {
    return share == shares_.size() ? kSteps : shares_[share].step;
  }
  // Schedules the member's arrival at that share, or at its end, by its own speed.
  void Head(uint32_t number, size_t share, double now) {
    const auto steps = static_cast<double>(StepAt(share) - members_[number - 1].step);
    due_.push({now + steps * DurationOf(seed_, number - 1), number, share});
  }
  double Observed(uint32_t number) const {
    const Member& member = members_[number - 1];
    const double unit = DrawUnit({97, seed_, number, member.step});
    return member.training.Loss() * (1 + kNoise * (2 * unit - 1));
  }

  void Compare(uint32_t number, size_t place) {
    Share& share = shares_[place];
    Member& member = members_[number - 1];
    share.saved[number - 1] = member;
    const double cost = Observed(number);
    const search::Turnover turnover = search::JudgeMember(share.entries, population_, number, cost);
    if (turnover.takes_over) {
      const DrawKey key = search::MemberKey(seed_, number, static_cast<int>(place) + 1);
      const uint32_t donor =
          search::ChooseDonor(share.entries, turnover, key, [](uint32_t) { return true; });
      if (donor != 0) {
        member = share.saved[donor - 1];
        member.rates = search::Explore(space_, member.rates, population_, key, 0);
      }
    }
    share.entries.Enter({}, number, cost);
  }

  double LossOfTheBest() const {
    uint32_t best = 1;
    for (uint32_t number = 2; number <= members_.size(); ++number) {
      if (Observed(number) < Observed(best)) best = number;
    }
    return members_[best - 1].training.Loss();
  }

  const Members kind_;
  const uint64_t seed_;
  const spec::Space space_ = Rates();
  const spec::Population population_;
  std::vector<Member> members_;
  std::vector<Share> shares_;
  using Due = std::tuple<double, uint32_t, size_t>;  // time, member, share
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace

double RunPopulation(uint32_t members, Members kind, uint64_t seed) {
  return PopulationRun(members, kind, seed).Run();
}

}  // namespace dt::bench
