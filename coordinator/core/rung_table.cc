#include "coordinator/core/rung_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "coordinator/core/search_index.h"

namespace dt {
namespace {

using Rungs = std::map<std::pair<int, int>, search::Rung>;  // by bracket and rung

Rungs EnteredIn(const Experiment& experiment) {
  const spec::Ladder ladder = LadderOf(experiment);
  Rungs rungs;
  for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
    for (const KnownRung& known : experiment.trials[number - 1].rungs) {
      rungs[{BracketOf(experiment, number), static_cast<int>(known.rung)}].Enter(ladder, number,
                                                                                 known.cost);
    }
  }
  return rungs;
}

void Count(const KnownRung& known, v1::RungStanding& row) {
  row.set_least_step(row.entered() == 0 ? known.step : std::min(row.least_step(), known.step));
  row.set_most_step(std::max(row.most_step(), known.step));
  row.set_entered(row.entered() + 1);
  const bool failed = std::isinf(known.cost);
  if (failed) row.set_failed(row.failed() + 1);
  if (known.goes_on && !failed) row.set_went_on(row.went_on() + 1);
}

}  // namespace

void FillRungs(const State& state, const Experiment& experiment,
               v1::GetExperimentResponse& response) {
  if (!Climbs(experiment)) return;
  std::map<std::pair<int, int>, v1::RungStanding> rows;
  for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
    for (const KnownRung& known : experiment.trials[number - 1].rungs) {
      Count(known, rows[{BracketOf(experiment, number), static_cast<int>(known.rung)}]);
    }
  }
  const auto index = state.live.searches.find(experiment.id);
  const bool indexed = index != state.live.searches.end();
  const Rungs made = indexed ? Rungs() : EnteredIn(experiment);
  const Rungs& rungs = indexed ? index->second.rungs : made;
  const spec::Ladder ladder = LadderOf(experiment);
  constexpr uint32_t kNext = std::numeric_limits<uint32_t>::max();  // stands behind equals
  for (auto& [key, row] : rows) {
    const search::Rung& entries = rungs.at(key);
    const auto value_at = [&](size_t place) {
      const double cost = entries.At(place).first;
      return std::isinf(cost) ? kNotANumber : search::ValueOf(GoalOf(experiment), cost);
    };
    row.set_bracket(key.first);
    row.set_rung(key.second);
    row.set_best(value_at(1));
    row.set_to_beat(value_at(entries.Judge(ladder, kNext, search::kWorstCost).allowed));
    *response.add_rungs() = std::move(row);
  }
}

}  // namespace dt
