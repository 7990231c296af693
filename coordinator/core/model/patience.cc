// patience.cc: see patience.h.
#include "coordinator/core/model/patience.h"

#include <algorithm>

#include "common/mutant.h"

namespace dt {
namespace {

// No step takes so many times the longest one; neither does a message's way. The time between two
// signs of progress varies less.
constexpr double kTimesTheLongest = 20;
constexpr double kTimesTheGap = 4;
// The longest silence of late may have been cut short by chance.
constexpr double kTimesTheSilence = 2;

absl::Duration SilenceOf(const Signs& signs) {
  if (!signs.round_trip.has_value()) return signs.lease;
  return std::min(signs.lease,
                  std::max({limits::kSilenceLeast, kTimesTheLongest * *signs.round_trip,
                            kTimesTheSilence * signs.longest_silence}));
}

// To connect again takes some round trips.
absl::Duration ClosedOf(const Signs& signs) {
  const absl::Duration round_trip = signs.round_trip.value_or(absl::ZeroDuration());
  return std::min(signs.lease, std::max(limits::kClosedPatience, kTimesTheLongest * round_trip));
}

absl::Duration ProgressOf(const Signs& signs) {
  const absl::Duration by_steps = kTimesTheLongest * signs.longest_step;
  const absl::Duration most =
      std::max({limits::kHangFloor, by_steps, kTimesTheLongest * signs.first_step});
  switch (signs.work) {
    case Work::kUnannounced:
    case Work::kFirstStep:
      return most;
    case Work::kSteps:
      return std::min(most,
                      std::max({limits::kHangLeast, by_steps, kTimesTheGap * signs.longest_gap}));
    case Work::kEvaluates:
      // Neither a step nor a part shows how long a part takes.
      if (std::max(signs.longest_step, signs.longest_part) == absl::ZeroDuration()) return most;
      return std::min(most, std::max({limits::kLongWorkLeast, by_steps,
                                      kTimesTheLongest * signs.longest_part}));
    case Work::kPauses:
      // An evaluation does not show how long a save takes. Nor does the copy with which one begins.
      if (signs.longest_save == absl::ZeroDuration()) return most;
      if (Mutated(Mutant::kPauseIsAStep)) return limits::kHangLeast;
      return std::min(
          most, std::max({limits::kLongWorkLeast, by_steps,
                          kTimesTheLongest * std::max(signs.longest_pause, signs.longest_save)}));
  }
  return most;
}

}  // namespace

Patience PatienceOf(const Signs& signs) {
  Patience patience;
  patience.closed = ClosedOf(signs);
  patience.silence = SilenceOf(signs);
  patience.alone = signs.lease;
  patience.standstill = signs.lease;
  if (signs.longest_step > absl::ZeroDuration()) {
    patience.standstill = std::min(
        signs.lease, std::max(limits::kSilenceLeast, kTimesTheLongest * signs.longest_step));
  }
  patience.progress = ProgressOf(signs);
  patience.rendezvous = signs.met ? limits::kRendezvousAgain : limits::kRendezvousTimeout;
  return patience;
}

}  // namespace dt
