#include "bench/search/goals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/check.h"
#include "common/draw.h"
#include "coordinator/search/front.h"
#include "coordinator/search/searcher.h"

namespace dt::bench {
namespace {

constexpr size_t kDimensions = 5;
constexpr double kCentre = 0.7;  // of the sphere, in each dimension
constexpr double kMostSum = 2;   // the constraint: the sum of the coordinates is at most this
// The best feasible point has kMostSum / kDimensions in each dimension.
constexpr double kBestCost = 0.45;
const search::Costs& Reference() {
  static const auto* const reference = new search::Costs{1, 6};
  return *reference;
}
// Below the reference ZDT1's front f2 = 1 - √f1 leaves an area of 1/3 out.
constexpr double kBestVolume = 6 - 1.0 / 3;

spec::Space UnitCube() {
  spec::Space space;
  for (size_t i = 0; i < kDimensions; ++i) {
    space.dimensions.push_back({.path = std::string("x") + std::to_string(i), .low = 0, .high = 1});
  }
  return space;
}

search::Outcome TwoObjectives(const spec::Point& at) {
  double sum = 0;
  for (size_t i = 1; i < at.size(); ++i) sum += at[i];
  const double g = 1 + 9 * sum / static_cast<double>(at.size() - 1);
  return {{at[0], g * (1 - std::sqrt(at[0] / g))}, 0};
}

search::Outcome Constrained(const spec::Point& at) {
  double cost = 0;
  double sum = 0;
  for (const double x : at) {
    cost += (x - kCentre) * (x - kCentre);
    sum += x;
  }
  return {{cost}, std::max(0.0, (sum - kMostSum) / kMostSum)};
}

}  // namespace

const char* NameOf(GoalProblem problem) {
  switch (problem) {
    case GoalProblem::kTwoObjectives:
      return "two objectives";
    case GoalProblem::kConstrained:
      return "constrained";
  }
  return "";
}

const spec::Space& GoalSpace() {
  static const auto* const space = new spec::Space(UnitCube());
  return *space;
}

search::Outcome OutcomeOf(GoalProblem problem, const spec::Point& at) {
  return problem == GoalProblem::kTwoObjectives ? TwoObjectives(at) : Constrained(at);
}

GoalChooser OurGoals(uint64_t seed) {
  auto history = std::make_shared<search::History>();  // shared by both functions of the chooser
  return {
      .ask =
          [history, seed](uint32_t configuration) {
            auto proposed = search::Propose({.seed = seed}, GoalSpace(), *history, configuration,
                                            [](const auto&) { return true; });
            DT_CHECK(std::holds_alternative<search::Proposal>(proposed));
            spec::Point at = std::get<search::Proposal>(std::move(proposed)).at;
            history->Open(configuration, at);
            return at;
          },
      .tell = [history](uint32_t configuration,
                        const search::Outcome& outcome) { history->End(configuration, outcome); }};
}

GoalChooser UniformGoals(uint64_t seed) {
  return {.ask =
              [seed](uint32_t configuration) {
                return spec::DrawUniform(GoalSpace(),
                                         {.seed = seed, .configuration = configuration});
              },
          .tell = [](uint32_t, const search::Outcome&) {}};
}

double RunGoals(GoalProblem problem, const GoalChooser& chooser, int trials) {
  std::vector<search::Costs> feasible;
  for (int i = 1; i <= trials; ++i) {
    const auto configuration = static_cast<uint32_t>(i);
    const search::Outcome outcome = OutcomeOf(problem, chooser.ask(configuration));
    chooser.tell(configuration, outcome);
    if (outcome.violation == 0) feasible.push_back(outcome.costs);
  }
  if (problem == GoalProblem::kTwoObjectives) {
    return search::Hypervolume(feasible, Reference()) / kBestVolume;
  }
  double best = std::numeric_limits<double>::infinity();
  for (const search::Costs& costs : feasible) best = std::min(best, costs.front());
  return kBestCost / best;
}

}  // namespace dt::bench
