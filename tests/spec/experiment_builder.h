// experiment_builder.h: builds experiments as the reader of a file does.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spec/spec.h"

namespace dt::spec {

// A valid experiment of one trial; Set and Sweep do what a file's lines do.
class ExperimentBuilder {
 public:
  ExperimentBuilder() : spec_(DefaultExperiment()) {
    spec_.set_name("test");
    Set("data.train", "train_*.bin").Set("data.val", "val_*.bin");
  }

  ExperimentBuilder& Set(const std::string& path, const std::string& text) {
    const absl::Status status = SetField(*spec_.mutable_base(), path, Value(path, text));
    EXPECT_TRUE(status.ok()) << status.message().data();
    spec_.add_explicit_paths(path);
    return *this;
  }
  ExperimentBuilder& Sweep(const std::string& path, const std::vector<std::string>& texts) {
    v1::Parameter& parameter = *spec_.add_parameters();
    parameter.set_path(path);
    for (const std::string& text : texts) *parameter.add_values() = Value(path, text);
    return *this;
  }
  using Where = std::vector<std::pair<std::string, std::string>>;
  ExperimentBuilder& Exclude(const Where& where) {
    v1::Exclusion& exclusion = *spec_.add_exclude();
    for (const auto& [path, text] : where) {
      v1::Assignment& assignment = *exclusion.add_where();
      assignment.set_path(path);
      *assignment.mutable_value() = Value(path, text);
    }
    return *this;
  }

  const v1::ExperimentSpec& spec() const { return spec_; }
  v1::ExperimentSpec& spec() { return spec_; }
  // Returns the first trial, resolved.
  v1::Spec Resolve() const {
    const auto trials = Expand(spec_);
    EXPECT_TRUE(trials.ok());
    const auto& first = trials->front().assignments();
    const auto resolved = ResolveTrial(spec_, {first.begin(), first.end()});
    EXPECT_TRUE(resolved.ok());
    return *resolved;
  }

 private:
  static v1::Value Value(const std::string& path, const std::string& text) {
    const Field* field = FindField(path);
    if (field != nullptr) {
      if (const auto value = ParseValue(*field, text); value.ok()) return *value;
    }
    // A value that the field cannot hold, as another client could send it.
    v1::Value value;
    value.set_text(text);
    return value;
  }

  v1::ExperimentSpec spec_;
};

}  // namespace dt::spec
