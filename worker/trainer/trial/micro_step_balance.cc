// micro_step_balance.cc: see micro_step_balance.h.
#include "worker/trainer/trial/micro_step_balance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "common/check.h"

namespace dt::trainer {

std::vector<int64_t> DealMicroSteps(const std::vector<double>& seconds, int64_t total) {
  const auto ranks = static_cast<int64_t>(seconds.size());
  DT_CHECK(ranks > 0 && total >= ranks);
  double speed = 0;  // micro-steps per second, over all ranks
  for (const double one : seconds) speed += 1 / one;
  // First give each rank the micro-steps that it completes by the time at which all ranks together
  // complete all but one micro-step each; at least one.
  const double level = static_cast<double>(total - ranks) / speed;
  std::vector<int64_t> shares;
  int64_t left = total;
  for (const double one : seconds) {
    shares.push_back(std::max<int64_t>(1, static_cast<int64_t>(level / one)));
    left -= shares.back();
  }
  DT_CHECK(left >= 0);
  // Give each remaining micro-step to the rank that would finish it first.
  using Ready = std::pair<double, size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto add = [&](size_t rank) {
    ready.emplace(static_cast<double>(shares[rank] + 1) * seconds[rank], rank);
  };
  for (size_t rank = 0; rank < shares.size(); ++rank) add(rank);
  for (; left > 0; --left) {
    const size_t rank = ready.top().second;
    ready.pop();
    ++shares[rank];
    add(rank);
  }
  return shares;
}

double LongestSeconds(const std::vector<int64_t>& shares, const std::vector<double>& seconds) {
  double longest = 0;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    longest = std::max(longest, static_cast<double>(shares[rank]) * seconds.at(rank));
  }
  return longest;
}

MicroStepBalance::MicroStepBalance(int64_t begun, int64_t ranks, int64_t each)
    : shares_(static_cast<size_t>(ranks), each), total_(ranks * each), begun_(begun) {}

double MicroStepBalance::TakeSecondsOfOne(int64_t share) {
  const double steps = static_cast<double>(kSteps - kSteps / 2);
  return std::exchange(measured_seconds_, 0) / (steps * static_cast<double>(share));
}

bool MicroStepBalance::Look(const std::vector<double>& seconds) {
  const bool measured = std::all_of(seconds.begin(), seconds.end(), [](double one) {
    return std::isfinite(one) && one > 1e-9 && one < 1e9;
  });
  if (!measured || seconds.size() != shares_.size()) return false;
  std::vector<int64_t> dealt = DealMicroSteps(seconds, total_);
  const double now = LongestSeconds(shares_, seconds);
  if (LongestSeconds(dealt, seconds) > (1 - kLeastGain) * now) return false;
  shares_ = std::move(dealt);
  return true;
}

}  // namespace dt::trainer
