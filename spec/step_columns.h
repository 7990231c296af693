// step_columns.h: the one table of a step row's measurements that can be summed: a field's name,
// the steps that it covers, and the phase of a step as which it is exported and drawn.
//
// Role:      coordinator (sums, metrics) and dtctl (figures, CSV) iterate over it; a column added
//            to StepRow and here is complete.
// Invariant: every double of StepRow that can be summed appears once (tests/spec asserts it).
// Tests:     tests/spec/step_columns_test.cc
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "dtrain/v1/model.pb.h"

namespace dt::spec {

// A value covers all steps since the row before, or its own step only, which then stands for the
// steps in between.
enum class Covers { kSinceRowBefore, kLoggedStep };

struct StepColumn {
  const char* name;  // of the field of StepRow, and of the metric in `dtctl metrics`
  Covers covers;
  const char* phase;  // label of dtrain_trial_phase_seconds_total; "": none
  const char* title;  // in charts; "": not a part of an optimizer step
  double (::dtrain::v1::StepRow::*get)() const;
  void (::dtrain::v1::StepRow::*set)(double);

  double Of(const ::dtrain::v1::StepRow& row) const { return (row.*get)(); }
  void Set(::dtrain::v1::StepRow& row, double value) const { (row.*set)(value); }
  constexpr bool IsPartOfStep() const { return title[0] != '\0'; }
};

#define DT_COLUMN(name, covers, phase, title)                          \
  StepColumn {                                                         \
#name, Covers::covers, phase, title, &::dtrain::v1::StepRow::name, \
        &::dtrain::v1::StepRow::set_##name                             \
  }
// Parts of a step stand in the order in which they happen.
inline constexpr std::array kStepColumns = {
    DT_COLUMN(tokens, kSinceRowBefore, "", ""),
    DT_COLUMN(seconds, kSinceRowBefore, "", ""),
    DT_COLUMN(steps, kSinceRowBefore, "", ""),
    DT_COLUMN(nonfinite_steps, kSinceRowBefore, "", ""),
    DT_COLUMN(flops, kSinceRowBefore, "", ""),
    DT_COLUMN(data_seconds, kLoggedStep, "data", "data"),
    DT_COLUMN(forward_seconds, kLoggedStep, "forward", "forward"),
    DT_COLUMN(backward_seconds, kLoggedStep, "backward", "backward"),
    DT_COLUMN(comm_exposed_seconds, kLoggedStep, "comm_exposed", "exposed communication"),
    DT_COLUMN(optimizer_seconds, kLoggedStep, "optimizer", "optimizer"),
    DT_COLUMN(eval_seconds, kSinceRowBefore, "eval", ""),
    DT_COLUMN(checkpoint_seconds, kSinceRowBefore, "checkpoint", ""),
    DT_COLUMN(other_seconds, kLoggedStep, "other", "other"),
    DT_COLUMN(allreduce_seconds, kLoggedStep, "", ""),
    DT_COLUMN(allreduce_bytes, kLoggedStep, "", ""),
    DT_COLUMN(allreduce_count, kLoggedStep, "", ""),
};
#undef DT_COLUMN

// Returns the sum of a counter that is built from rows: it must never fall or become NaN, whatever
// a trainer measured.
inline double Grown(double sum, double by) { return std::isfinite(by) && by > 0 ? sum + by : sum; }

// The number of parts of an optimizer step.
inline constexpr size_t kStepParts = [] {
  size_t parts = 0;
  for (const StepColumn& column : kStepColumns) parts += column.IsPartOfStep() ? 1 : 0;
  return parts;
}();
inline constexpr std::array<StepColumn, kStepParts> kPartsOfStep = [] {
  std::array<StepColumn, kStepParts> parts{};
  size_t next = 0;
  for (const StepColumn& column : kStepColumns) {
    if (column.IsPartOfStep()) parts[next++] = column;
  }
  return parts;
}();

}  // namespace dt::spec
