#include "tests/sim/proposal_checker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/draw.h"
#include "common/limits.h"
#include "coordinator/core/model/lifecycle.h"
#include "spec/search.h"
#include "spec/space.h"

namespace dt::sim {
namespace {

struct Count {
  size_t ended = 0;              // configurations with a result
  size_t failed = 0;             // by their own fault
  size_t open = 0;               // without any result yet
  size_t known = 0;              // used by the model, open and failed ones included
  std::map<int, size_t> levels;  // number that reached each rung, and the end
};

bool IsLadder(const Experiment& experiment) { return experiment.spec.search().method() == "asha"; }

// Adds one configuration's trials to the count.
void CountOne(const Experiment& experiment, size_t first, size_t replicates, Count& count) {
  bool over = true;
  bool failed = false;
  size_t finished = 0;
  size_t rungs = 0;
  for (size_t i = first; i < first + replicates; ++i) {
    const Trial& trial = experiment.trials[i];
    over = over && IsTerminal(trial.state);
    failed = failed || (trial.state == v1::TRIAL_FAILED && FailedOnItsOwn(trial.cause));
    finished += trial.state == v1::TRIAL_FINISHED ? 1 : 0;
    for (const KnownRung& rung : trial.rungs) {
      if (std::isinf(rung.cost)) continue;
      ++count.levels[static_cast<int>(rung.rung)];
      ++rungs;
    }
  }
  if (over && !failed && finished == 0 && rungs == 0) return;  // cancelled, or lost
  ++count.known;
  if (!over && rungs == 0) ++count.open;
  if (over && failed) ++count.failed;
  if (!over || failed || finished == 0) return;
  ++count.ended;
  const bool whole = experiment.trials[first].cause == v1::CAUSE_FINISHED;
  if (IsLadder(experiment) && whole) ++count.levels[experiment.spec.search().asha().rungs() + 1];
}

size_t GoodOf(const Experiment& experiment, const Count& count) {
  if (!IsLadder(experiment)) return std::min<size_t>(25, (count.ended + 9) / 10);
  size_t at = count.levels.empty() ? 0 : count.levels.begin()->second;
  for (const auto& [level, came] : count.levels) {
    if (came >= 4) at = came;
  }
  return std::min<size_t>(25, (at + 3) / 4);
}

std::string ReasonFor(const Experiment& experiment, const Count& count, size_t number) {
  if (count.ended + count.failed < 10) {
    return absl::StrCat("uniform: ", count.ended + count.failed,
                        " of the 10 configurations that the model needs have ended");
  }
  if (IsLadder(experiment) && number % 3 == 0) {
    return "uniform: every third is, where rungs end trials early";
  }
  const size_t good = GoodOf(experiment, count);
  return absl::StrCat("tpe: best of 24; ", good, " good, ", count.known - good - count.open,
                      " other, ", count.open, " open");
}

// Returns the first draw of the configuration's key that was not tried; nothing if all were.
std::optional<spec::Point> FirstUntried(const Experiment& experiment, size_t number,
                                        size_t replicates) {
  const spec::Space space = *spec::SpaceOf(experiment.spec);
  std::set<spec::Point> tried;
  for (size_t i = 0; i < experiment.trials.size(); i += replicates) {
    tried.insert(
        *spec::PointOf(space, ValuesOf(experiment, ExpandedOf(experiment, experiment.trials[i]))));
  }
  DrawKey key{.seed = spec::SearchSeed(experiment.spec),
              .configuration = static_cast<uint32_t>(number)};
  for (; key.redraw < limits::kRedraws; ++key.redraw) {
    spec::Point at = spec::DrawUniform(space, key);
    if (!tried.contains(at)) return at;
  }
  return std::nullopt;
}

}  // namespace

bool FailedOnItsOwn(v1::Cause cause) {
  return cause == v1::CAUSE_TRAINER_CRASH || cause == v1::CAUSE_HANG || cause == v1::CAUSE_OOM ||
         cause == v1::CAUSE_NONFINITE || cause == v1::CAUSE_CONFIG || cause == v1::CAUSE_DATA;
}

std::vector<v1::Assignment> ValuesOf(const Experiment& experiment,
                                     const v1::ExpandedTrial& expanded) {
  std::vector<v1::Assignment> values(expanded.assignments().begin(), expanded.assignments().end());
  if (!experiment.spec.seeds().empty()) {
    std::erase_if(values, [](const v1::Assignment& each) { return each.path() == "seed"; });
  }
  return values;
}

bool SameValues(const std::vector<v1::Assignment>& a, const std::vector<v1::Assignment>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const v1::Assignment& one, const v1::Assignment& other) {
                      return one.SerializeAsString() == other.SerializeAsString();
                    });
}

std::string ProposalViolation(const Experiment& experiment, const v1::TrialsAdded& fact) {
  const size_t replicates = spec::ReplicatesOf(experiment.spec);
  const size_t number = experiment.trials.size() / replicates + 1;
  const std::string name =
      absl::StrCat("S2: configuration ", number, " of experiment ", experiment.id,
                   " is proposed with the reason '", fact.reasons(0), "', and ");
  Count count;
  for (size_t first = 0; first < experiment.trials.size(); first += replicates) {
    CountOne(experiment, first, replicates, count);
  }
  const std::string expected = ReasonFor(experiment, count, number);
  const std::string& reason = fact.reasons(0);
  if (!expected.starts_with("uniform")) {
    const bool no_draw = reason.starts_with("the next that") || reason.starts_with("a repeat");
    return reason == expected || no_draw ? "" : absl::StrCat(name, "it should be ", expected);
  }
  const std::optional<spec::Point> at = FirstUntried(experiment, number, replicates);
  if (!at.has_value()) {
    return reason.starts_with("the next that") ? "" : name + "all its draws were tried";
  }
  if (reason != expected) return absl::StrCat(name, "it should be ", expected);
  const spec::Space space = *spec::SpaceOf(experiment.spec);
  const bool same =
      SameValues(spec::AssignmentsOf(space, *at), ValuesOf(experiment, fact.trials(0)));
  return same ? "" : name + "it is not the first of its draws that was not tried";
}

std::string ExhaustionViolation(const Experiment& experiment) {
  const size_t tried = experiment.trials.size() / spec::ReplicatesOf(experiment.spec);
  const auto all = spec::CombinationsOf(*spec::SpaceOf(experiment.spec));
  if (all.has_value() && tried >= *all) return "";
  return absl::StrCat("S2: experiment ", experiment.id, " has tried ", tried,
                      " combinations, and finds no more");
}

}  // namespace dt::sim
