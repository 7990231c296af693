#include "coordinator/search/stopping.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace dt::search {

void Means::Add(uint64_t step, double mean) {
  std::vector<double>& all = means_[step];
  all.insert(std::upper_bound(all.begin(), all.end(), mean), mean);
}

size_t Means::others(uint64_t step) const {
  const auto found = means_.find(step);
  return found == means_.end() ? 0 : found->second.size() - 1;
}

std::optional<double> Means::MedianOfOthers(uint64_t step, double own) const {
  const size_t count = others(step);
  if (count < kMedianLeast) return std::nullopt;
  const std::vector<double>& all = means_.at(step);
  const auto place =
      static_cast<size_t>(std::lower_bound(all.begin(), all.end(), own) - all.begin());
  const auto at = [&](size_t index) { return all[index < place ? index : index + 1]; };
  if (count % 2 == 1) return at(count / 2);
  const double low = at(count / 2 - 1);
  const double high = at(count / 2);
  return low == high ? low : low + (high - low) / 2;  // for two infinities, avoids their difference
}

bool Count(TrialProgress& progress, uint64_t step, double cost) {
  if (progress.validations > 0 && step <= progress.step) return false;
  progress.step = step;
  ++progress.validations;
  progress.without_better = cost < progress.best ? 0 : progress.without_better + 1;
  progress.best = std::min(progress.best, cost);
  // Adding to an infinite mean could give NaN.
  if (std::isfinite(progress.mean)) {
    progress.mean += (cost - progress.mean) / static_cast<double>(progress.validations);
  }
  return true;
}

std::optional<std::string> EndByLoss(const StopRules& rules, uint64_t step, double loss) {
  if (std::isnan(loss)) return absl::StrFormat("the loss at step %d is not a number", step);
  if (std::isinf(loss)) return absl::StrFormat("the loss at step %d is infinite", step);
  if (rules.max_loss <= 0 || loss <= rules.max_loss) return std::nullopt;
  return absl::StrFormat("the loss at step %d, %.5g, is above stop.max_loss %.5g", step, loss,
                         rules.max_loss);
}

std::optional<std::string> EndByPatience(const StopRules& rules, const Metric& metric,
                                         const TrialProgress& progress) {
  if (rules.patience <= 0 || progress.without_better < rules.patience) return std::nullopt;
  return absl::StrFormat(
      "%d validations in a row, the last at step %d, without a better %s than "
      "%.5g (stop.patience %d)",
      progress.without_better, progress.step, metric.name, ValueOf(metric.goal, progress.best),
      rules.patience);
}

std::optional<std::string> EndByMedian(const StopRules& rules, const Metric& metric,
                                       const TrialProgress& progress, const Means& means) {
  if (rules.median_after <= 0) return std::nullopt;
  if (progress.validations < static_cast<uint64_t>(rules.median_after)) return std::nullopt;
  const std::optional<double> median = means.MedianOfOthers(progress.step, progress.mean);
  if (!median.has_value() || progress.best <= *median) return std::nullopt;
  return absl::StrFormat(
      "the best %s up to step %d, %.5g, is worse than %.5g, the median of the "
      "means of %d other trials up to there (stop.median)",
      metric.name, progress.step, ValueOf(metric.goal, progress.best),
      ValueOf(metric.goal, *median), means.others(progress.step));
}

std::optional<std::string> EndOfSearch(std::optional<double> target, const Metric& metric,
                                       double value) {
  if (!target.has_value() || std::isnan(value)) return std::nullopt;
  if (CostOf(metric.goal, value) > CostOf(metric.goal, *target)) return std::nullopt;
  return absl::StrFormat("%s %.5g reaches search.target %.5g", metric.name, value, *target);
}

}  // namespace dt::search
