// noise_scale.cc: see noise_scale.h.
#include "worker/trainer/parallel/noise_scale.h"

#include <cmath>

namespace dt::trainer {
namespace {

constexpr double kKept = 0.95;

}  // namespace

void NoiseScale::Add(double small_batch, double small_squared, double large_batch,
                     double large_squared) {
  if (large_batch <= small_batch || !std::isfinite(small_squared) ||
      !std::isfinite(large_squared)) {
    return;
  }
  const double signal =
      (large_batch * large_squared - small_batch * small_squared) / (large_batch - small_batch);
  const double noise = (small_squared - large_squared) / (1 / small_batch - 1 / large_batch);
  state_.weight = kKept * state_.weight + (1 - kKept);
  state_.signal = kKept * state_.signal + (1 - kKept) * signal;
  state_.noise = kKept * state_.noise + (1 - kKept) * noise;
}

std::optional<double> NoiseScale::Value() const {
  if (state_.weight == 0 || state_.signal <= 0 || state_.noise <= 0) return std::nullopt;
  return state_.noise / state_.signal;
}

}  // namespace dt::trainer
