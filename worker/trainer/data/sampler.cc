// sampler.cc: see sampler.h. The permutation is a Feistel network with cycle walking. It needs no
// table and computes any position directly, so a resume costs nothing.
#include "worker/trainer/data/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "common/check.h"
#include "common/draw.h"

namespace dt::trainer {
namespace {

// Fewer than four rounds show patterns; more than six cost time without effect on training.
constexpr int kRounds = 6;

}  // namespace

Sampler::Sampler(SampleOrder order, uint64_t seed, uint64_t windows)
    : order_(order), seed_(seed), windows_(windows) {
  DT_CHECK(windows > 0);
  half_bits_ = std::max(1, (static_cast<int>(std::bit_width(windows - 1)) + 1) / 2);
}

uint64_t Sampler::Window(uint64_t sample) const {
  const uint64_t position = sample % windows_;
  switch (order_) {
    case SampleOrder::kSequential:
      return position;
    case SampleOrder::kShuffled:
      return Permute(sample / windows_, position);
  }
  return position;
}

uint64_t Sampler::Permute(uint64_t epoch, uint64_t position) const {
  const uint64_t key = SplitMix64(SplitMix64(seed_) ^ epoch);
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  // The network permutes [0, 4^half_bits_), a range less than four times as large as needed. Cycle
  // walking (apply again while the value is out of range) keeps it a permutation of the windows,
  // and takes fewer than four rounds of the loop on average.
  uint64_t value = position;
  do {
    uint64_t left = value >> half_bits_;
    uint64_t right = value & mask;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t next =
          left ^ (SplitMix64(key ^ (static_cast<uint64_t>(round) << 48) ^ right) & mask);
      left = right;
      right = next;
    }
    value = left << half_bits_ | right;
  } while (value >= windows_);
  return value;
}

absl::Status BatchPlan::Check() const {
  DT_CHECK(world_size > 0 && rank >= 0 && rank < world_size);
  if (micro_batch <= 0 || global_batch <= 0 || global_batch % (micro_batch * world_size) != 0) {
    return ConfigError("train.global_batch_size is " + std::to_string(global_batch) +
                       "; it must be a multiple of train.batch_size " +
                       std::to_string(micro_batch) + " × " + std::to_string(world_size) + " ranks");
  }
  return absl::OkStatus();
}

int64_t BatchPlan::MicroBatch(int64_t micro_step) const {
  if (shares.empty()) return micro_step * world_size + rank;
  int64_t before = 0;
  for (int32_t other = 0; other < world_size; ++other) {
    const int64_t share = shares[static_cast<size_t>(other)];
    before += std::min(share, micro_step + (other < rank ? 1 : 0));
  }
  return before;
}

uint64_t StepsOfEpochs(double epochs, uint64_t windows, int64_t global_batch) {
  double steps = epochs * static_cast<double>(windows) / static_cast<double>(global_batch);
  // 1.15 × 100 is slightly less than 115 in binary, so undo the error of up to three roundings.
  const double nearest = std::round(steps);
  if (std::abs(steps - nearest) <= 2 * std::numeric_limits<double>::epsilon() * steps) {
    steps = nearest;
  }
  constexpr double kStepsMax = 9007199254740991.0;
  return static_cast<uint64_t>(std::clamp(std::floor(steps), 1.0, kStepsMax));
}

}  // namespace dt::trainer
