#include "report/analysis/collect.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/words/summary.h"
#include "spec/collectives.h"
#include "spec/metric.h"
#include "spec/search.h"

namespace dt::report {

namespace {

// Returns the same points over tokens; none where the tokens of a step are unknown.
std::vector<Point> OverTokens(std::vector<Point> by_step, uint64_t tokens_per_step) {
  if (tokens_per_step == 0) by_step.clear();
  for (Point& point : by_step) point.x *= static_cast<double>(tokens_per_step);
  return by_step;
}

}  // namespace

Collector::Collector(Experiment& experiment) : search_(experiment.found.spec().search()) {
  for (Trial& trial : experiment.trials) trials_[trial.summary.trial()] = &trial;
}

void Collector::Take(const v1::MetricRow& from, Trial& trial) {
  const v1::StepRow& row = from.row();
  ++trial.logged;
  for (size_t i = 0; i < spec::kPartsOfStep.size(); ++i) {
    trial.phase_seconds[i] += spec::kPartsOfStep[i].Of(row);
  }
  trial.comm_seconds += spec::CommunicationSeconds(row);
  spec::AddCollectives(row, 1, trial.sent);
  // Older rows have one number for tensors and process.
  const double memory =
      row.tensor_peak_bytes() > 0 ? row.tensor_peak_bytes() : row.memory_peak_bytes();
  trial.memory_peak_bytes = std::max(trial.memory_peak_bytes, memory);
  trial.newest_wall_ms = std::max(trial.newest_wall_ms, row.wall_time_ms());
  const auto step = static_cast<double>(row.step());
  const double seconds = time_.After(from.attempt(), row);
  const bool timed = seconds > 0;
  if (timed) time_of_step_.push_back({step, seconds});
  if (row.has_noise_scale_tokens() && std::isfinite(row.noise_scale_tokens())) {
    noise_by_step_.push_back({step, row.noise_scale_tokens()});
  }
  if (!std::isfinite(row.loss())) return;
  by_step_.push_back({step, row.loss()});
  if (timed) by_time_.push_back({seconds, row.loss()});
}

// Keeps the first value at each rung, as the search does: an attempt that went back reaches the
// rung again.
void Collector::TakeAtRung(const v1::EvaluationRow& row) {
  if (search_.method() != "asha") return;
  const auto found = trials_.find(row.trial());
  if (found == trials_.end()) return;
  Trial& trial = *found->second;
  const spec::Ladder ladder = spec::LadderOf(search_);
  for (const spec::RungStep& rung : spec::RungSteps(ladder, 0, trial.summary.target_steps(), 0)) {
    const bool known = !trial.rung_values.empty() && trial.rung_values.back().rung >= rung.rung;
    if (rung.step != row.evaluation().step() || known) continue;
    trial.rung_values.push_back({rung.rung, spec::MetricIn(row.evaluation(), search_.metric())});
  }
}

void Collector::TakeMetric(const v1::EvaluationRow& row) {
  const auto found = trials_.find(row.trial());
  if (found == trials_.end() || !NeedsColumn(search_.metric())) return;
  const double value = spec::MetricIn(row.evaluation(), search_.metric());
  if (!std::isfinite(value)) return;
  found->second->metric_by_step.push_back({static_cast<double>(row.evaluation().step()), value});
}

void Collector::TakeNewest(const v1::EvaluationRow& row) {
  const auto found = trials_.find(row.trial());
  if (found == trials_.end()) return;
  auto& newest = found->second->newest_metrics;
  for (const v1::Metric& one : row.evaluation().metrics()) {
    if (!std::isfinite(one.value())) continue;
    const auto had = std::find_if(newest.begin(), newest.end(),
                                  [&](const auto& metric) { return metric.first == one.name(); });
    if (had == newest.end()) {
      newest.emplace_back(one.name(), one.value());
    } else {
      had->second = one.value();
    }
  }
}

void Collector::Add(const v1::ReadMetricsResponse& page) {
  for (const v1::EvaluationRow& one : page.evaluations()) {
    if (one.evaluation().split() == "val") TakeAtRung(one);
    if (one.evaluation().split() == "val") TakeMetric(one);
    if (one.evaluation().split() == "val") TakeNewest(one);
    if (one.evaluation().split() == "val" && std::isfinite(one.evaluation().loss())) {
      std::vector<v1::Evaluation>& known = evaluations_[one.trial()];
      if (!known.empty()) known.back().clear_samples();  // only the newest are shown
      known.push_back(one.evaluation());
    }
  }
  for (const v1::MetricRow& one : page.rows()) {
    const auto found = trials_.find(one.trial());
    if (found == trials_.end()) continue;  // submitted with a retry after the trials were listed
    if (found->second != current_) EndTrial();
    current_ = found->second;
    Take(one, *current_);
  }
}

void Collector::EndTrial() {
  if (current_ == nullptr) return;
  Trial& trial = *std::exchange(current_, nullptr);
  for (const v1::Evaluation& one : evaluations_[trial.summary.trial()]) {
    // An evaluation has no time of its own. It gets that of the newest step before it.
    const auto step = static_cast<double>(one.step());
    const auto later =
        std::upper_bound(time_of_step_.begin(), time_of_step_.end(), step,
                         [](double value, const Point& point) { return value < point.x; });
    if (later != time_of_step_.begin()) {
      trial.val_by_time.push_back({std::prev(later)->y, one.loss()});
    }
  }
  trial.mean_by_step = Means(by_step_, kMeansPerLine);
  trial.mean_by_time = Means(by_time_, kMeansPerLine);
  trial.loss_by_step = Thin(by_step_, kPointsPerLine);
  trial.loss_by_time = Thin(by_time_, kPointsPerLine);
  const uint64_t tokens = trial.summary.tokens_per_step();
  trial.mean_by_tokens = OverTokens(trial.mean_by_step, tokens);
  trial.loss_by_tokens = OverTokens(trial.loss_by_step, tokens);
  trial.noise_by_tokens = OverTokens(Thin(noise_by_step_, kPointsPerLine), tokens);
  trial.val_by_time = Thin(trial.val_by_time, kMarksPerLine);
  const auto rows = static_cast<double>(trial.logged);
  for (double& seconds : trial.phase_seconds) seconds /= rows;
  trial.comm_seconds /= rows;
  v1::StepRow mean;
  spec::AddCollectives(trial.sent, 1 / rows, mean);
  trial.sent = std::move(mean);
  by_step_.clear();
  by_time_.clear();
  time_of_step_.clear();
  noise_by_step_.clear();
  time_ = {};
}

void Collector::Finish() {
  EndTrial();
  for (auto& [number, trial] : trials_) {
    trial->metric_by_step = Thin(trial->metric_by_step, kPointsPerLine);
  }
  for (auto& [number, evaluations] : evaluations_) {
    const auto found = trials_.find(number);
    if (found == trials_.end() || evaluations.empty()) continue;
    std::vector<Point>& points = found->second->val_by_step;
    for (const v1::Evaluation& one : evaluations) {
      points.push_back({static_cast<double>(one.step()), one.loss()});
    }
    points = Thin(points, kMarksPerLine);
    found->second->val_by_tokens = OverTokens(points, found->second->summary.tokens_per_step());
    found->second->newest_evaluation = std::move(evaluations.back());
  }
}

}  // namespace dt::report
