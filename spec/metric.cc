#include "spec/metric.h"

#include <cmath>
#include <limits>

namespace dt::spec {

double MetricIn(const ::dtrain::v1::Evaluation& evaluation, std::string_view metric) {
  if (metric == "val_loss" && !std::isnan(evaluation.loss())) return evaluation.loss();
  if (metric == "loss" && evaluation.has_train_loss()) return evaluation.train_loss();
  if (metric == "hellaswag_acc" && evaluation.has_hellaswag_acc()) {
    return evaluation.hellaswag_acc();
  }
  if (metric == "hellaswag_acc_norm" && evaluation.has_hellaswag_acc_norm()) {
    return evaluation.hellaswag_acc_norm();
  }
  for (const ::dtrain::v1::Metric& named : evaluation.metrics()) {
    if (named.name() == metric) return named.value();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

bool Names(const ::dtrain::v1::Evaluation& evaluation, std::string_view metric) {
  if (!std::isnan(MetricIn(evaluation, metric))) return true;
  if (metric == "loss" && evaluation.has_train_loss()) return true;
  if (metric == "hellaswag_acc" && evaluation.has_hellaswag_acc()) return true;
  if (metric == "hellaswag_acc_norm" && evaluation.has_hellaswag_acc_norm()) return true;
  for (const ::dtrain::v1::Metric& named : evaluation.metrics()) {
    if (named.name() == metric) return true;
  }
  const bool alone = evaluation.metrics().empty() && !evaluation.has_train_loss() &&
                     !evaluation.has_hellaswag_acc() && !evaluation.has_hellaswag_acc_norm();
  return metric == "val_loss" && alone;
}

std::vector<std::string> MetricsIn(const ::dtrain::v1::Evaluation& evaluation) {
  std::vector<std::string> names = {"val_loss", "loss", "hellaswag_acc", "hellaswag_acc_norm"};
  for (const ::dtrain::v1::Metric& named : evaluation.metrics()) names.push_back(named.name());
  std::erase_if(names, [&evaluation](const std::string& name) {
    return !std::isfinite(MetricIn(evaluation, name));
  });
  return names;
}

}  // namespace dt::spec
