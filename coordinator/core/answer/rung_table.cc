#include "coordinator/core/answer/rung_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "coordinator/core/model/search_kind.h"

namespace dt {
namespace {

using Rungs = std::map<std::pair<int, int>, search::Rung>;  // by bracket and rung

Rungs EnteredIn(const Experiment& experiment) {
  const spec::Ladder ladder = LadderOf(experiment);
  Rungs rungs;
  for (uint32_t number = 1; number <= experiment.trials.size(); ++number) {
    const std::vector<KnownRung>& entered = experiment.trials[number - 1].rungs;
    if (entered.empty()) continue;
    const int bracket = BracketOf(experiment, number);
    for (const KnownRung& known : entered) {
      rungs[{bracket, static_cast<int>(known.rung)}].Enter(ladder, number, known.cost);
    }
  }
  return rungs;
}

// Adds an entry of the trial. A trial that breaks a constraint counts as the worst, but has not
// failed.
void Count(const Trial& trial, const KnownRung& known, v1::RungStanding& row) {
  row.set_least_step(row.entered() == 0 ? known.step : std::min(row.least_step(), known.step));
  row.set_most_step(std::max(row.most_step(), known.step));
  row.set_entered(row.entered() + 1);
  const bool failed = std::isinf(known.cost) && trial.state == v1::TRIAL_FAILED;
  if (failed) row.set_failed(row.failed() + 1);
  if (known.goes_on && !failed) row.set_went_on(row.went_on() + 1);
}

}  // namespace

void FillRungs(const State& state, const Experiment& experiment,
               v1::GetExperimentResponse& response) {
  if (!Climbs(experiment)) return;
  const auto index = state.live.searches.find(experiment.id);
  const bool indexed = index != state.live.searches.end();
  const Rungs made = indexed ? Rungs() : EnteredIn(experiment);
  const Rungs& rungs = indexed ? index->second.rungs : made;
  const spec::Ladder ladder = LadderOf(experiment);
  constexpr uint32_t kNext = std::numeric_limits<uint32_t>::max();  // sorts after equal costs
  for (const auto& rung : rungs) {  // no structured binding: clang 14 cannot capture one
    const int number = rung.first.second;
    const search::Rung& entries = rung.second;
    if (entries.entries() == 0) continue;  // all were taken back
    v1::RungStanding& row = *response.add_rungs();
    for (size_t place = 1; place <= entries.entries(); ++place) {
      const Trial& trial = experiment.trials[entries.At(place).second - 1];
      const auto known = std::find_if(trial.rungs.begin(), trial.rungs.end(), [&](const auto& one) {
        return static_cast<int>(one.rung) == number;
      });
      if (known != trial.rungs.end()) Count(trial, *known, row);
    }
    const auto value_at = [&](size_t place) {
      const double cost = entries.At(place).first;
      return std::isinf(cost) ? kNotANumber : search::ValueOf(GoalOf(experiment), cost);
    };
    row.set_bracket(rung.first.first);
    row.set_rung(number);
    row.set_best(value_at(1));
    row.set_to_beat(value_at(entries.Judge(ladder, kNext, search::kWorstCost).allowed));
  }
}

}  // namespace dt
