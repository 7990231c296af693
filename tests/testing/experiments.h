// experiments.h: specifications for tests: small, valid, and changed one field at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dtrain/v1/control.pb.h"
#include "spec/spec.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// Returns an experiment of one trial on one CPU slot, one step long, without a grid.
inline v1::ExperimentSpec OneTrial() {
  v1::ExperimentSpec spec;
  spec.set_version(1);
  spec.set_name("test");
  *spec.mutable_base() = spec::DefaultSpec();
  spec.mutable_base()->mutable_resources()->set_gpus(1);
  spec.mutable_base()->mutable_resources()->set_device("cpu");
  spec.mutable_base()->mutable_data()->set_train("train-*.bin");
  spec.mutable_base()->mutable_data()->set_val("val-*.bin");
  spec.mutable_base()->mutable_train()->set_max_steps(1);
  spec.mutable_base()->mutable_train()->set_max_tokens(0);
  spec.mutable_base()->mutable_train()->set_epochs(0);
  spec.mutable_base()->set_seed(7);
  spec.mutable_base()->mutable_retries()->set_max(2);
  spec.mutable_base()->mutable_retries()->set_backoff_seconds(1);
  spec.mutable_search()->set_method("grid");
  spec.mutable_search()->set_metric("val_loss");
  spec.mutable_search()->set_goal("minimize");
  for (const char* path : {"resources.gpus", "resources.device", "data.train", "data.val",
                           "train.max_steps", "seed", "retries.max", "retries.backoff"}) {
    spec.add_explicit_paths(path);
  }
  return spec;
}

inline v1::Value IntegerValue(int64_t value) {
  v1::Value result;
  result.set_integer(value);
  return result;
}
inline v1::Value NumberValue(double value) {
  v1::Value result;
  result.set_number(value);
  return result;
}

inline v1::ExperimentSpec Sweep(v1::ExperimentSpec spec, const std::string& path,
                                const std::vector<v1::Value>& values) {
  v1::Parameter& parameter = *spec.add_parameters();
  parameter.set_path(path);
  for (const v1::Value& value : values) *parameter.add_values() = value;
  auto* paths = spec.mutable_explicit_paths();
  for (int i = paths->size() - 1; i >= 0; --i) {
    if (paths->Get(i) == path) paths->erase(paths->begin() + i);
  }
  return spec;
}

// Returns a search by `method` over learning rates from 1e-5 to 1e-1.
inline v1::ExperimentSpec Searching(const std::string& method, int max_trials,
                                    v1::ExperimentSpec spec = OneTrial()) {
  v1::Parameter& rate = *spec.add_parameters();
  rate.set_path("optimizer.lr");
  rate.mutable_range()->set_min(1e-5);
  rate.mutable_range()->set_max(1e-1);
  rate.mutable_range()->set_scale("log");
  spec.mutable_search()->set_method(method);
  spec.mutable_search()->set_max_trials(max_trials);
  return spec;
}

// Returns an experiment of `count` trials that differ in their learning rate.
inline v1::ExperimentSpec Trials(int count, v1::ExperimentSpec spec = OneTrial()) {
  std::vector<v1::Value> values;
  for (int i = 1; i <= count; ++i) values.push_back(NumberValue(1e-6 * i));
  return Sweep(std::move(spec), "optimizer.lr", values);
}

inline v1::ExperimentSpec OnSlots(int slots, v1::ExperimentSpec spec = OneTrial()) {
  spec.mutable_base()->mutable_resources()->set_gpus(slots);
  return spec;
}

inline v1::ExperimentSpec Prior(int priority, v1::ExperimentSpec spec) {
  spec.mutable_base()->mutable_resources()->set_priority(priority);
  return spec;
}

inline v1::ExperimentSpec AtMost(int concurrent, v1::ExperimentSpec spec) {
  spec.mutable_search()->set_max_concurrent(concurrent);
  return spec;
}

}  // namespace dt
