#include "coordinator/core/run/save_pace.h"

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"
#include "common/limits.h"
#include "coordinator/core/model/lifecycle.h"
#include "spec/program.h"
#include "spec/spec.h"

namespace dt {
namespace {

constexpr char kPath[] = "checkpoint.every";
// Assumed seconds of a checkpoint until one was written.
constexpr double kUnknownCost = 1;
// Least seconds between losses: part of the time of a lost attempt may be unknown.
constexpr double kLeastBetweenLosses = 1;

bool IsGiven(const v1::ExperimentSpec& spec) {
  const auto& paths = spec.explicit_paths();
  return std::find(paths.begin(), paths.end(), kPath) != paths.end() || spec::IsSwept(spec, kPath);
}

// Returns whether the attempt ended early although nobody asked.
bool IsLoss(const Attempt& attempt) {
  if (attempt.state != AttemptState::kEnded || attempt.AskedToStop()) return false;
  const Consequence consequence = ConsequenceOf(attempt.cause);
  return consequence == Consequence::kRetriesLoss || consequence == Consequence::kRetriesCrash;
}

}  // namespace

void SetSavePace(const Experiment& experiment, const Trial& trial, uint32_t attempt,
                 v1::Spec& spec) {
  v1::Every& every = *spec.mutable_checkpoint()->mutable_every();
  if (spec::IsProgram(spec) || IsGiven(experiment.spec)) return;
  if (every.steps() > 0 || !(every.seconds() > 0)) return;
  const auto before =
      trial.attempts.begin() + std::min<ptrdiff_t>(attempt - 1, std::ssize(trial.attempts));
  const auto losses = std::count_if(trial.attempts.begin(), before, IsLoss);
  if (losses > 0) {
    double cost = kUnknownCost;
    for (const KnownCheckpoint& known : trial.checkpoints) {
      if (known.attempt < attempt && known.ref.seconds() > 0) cost = known.ref.seconds();
    }
    const double between =
        std::max(kLeastBetweenLosses, trial.pace.seconds() / static_cast<double>(losses));
    const double least = std::max(absl::ToDoubleSeconds(limits::kSaveLeast), 2 * cost);
    const double best = std::max(least, std::sqrt(2 * cost * between));
    every.set_seconds(std::min(every.seconds(), best));
  }
  every.set_first_seconds(std::min(every.seconds(), absl::ToDoubleSeconds(limits::kSaveFirst)));
}

}  // namespace dt
