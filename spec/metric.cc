#include "spec/metric.h"

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

}  // namespace dt::spec
