// field_row.h: what a row of the field table is written with, and the sections that have a file of
// their own.
//
// Role:  private to spec/.
// Tests: tests/spec
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spec/internal.h"
#include "spec/spec.h"

namespace dt::spec::internal {

// Sizes beyond which a number is a slip of the pen: far above any model of today, far below what
// would overflow a product of two of them.
inline constexpr double kSizeMax = 1 << 20;
// Counts of steps and tokens, and seeds.
inline constexpr double kCountMax = kWholeMax;

// Builds one row: Row("path", type).Range(1, 8).Default("1").Help("…").
struct Row {
  Field field;
  Row(const char* path, FieldType type) {
    field.path = path;
    field.type = type;
  }
  Row& Range(double min, double max) {
    field.min = min;
    field.max = max;
    return *this;
  }
  Row& Above(double min, double max) {
    field.min_exclusive = true;
    return Range(min, max);
  }
  Row& Below(double min, double max) {
    field.max_exclusive = true;
    return Range(min, max);
  }
  Row& Glob() {
    field.glob = true;
    return *this;
  }
  Row& Count(int count) {
    field.count = count;
    return *this;
  }
  Row& Choices(std::vector<std::string> choices, std::vector<std::string> later = {}) {
    field.choices = std::move(choices);
    field.later = std::move(later);
    return *this;
  }
  Row& Default(const char* text) {
    field.default_text = text;
    return *this;
  }
  Row& Depends(const char* how) {
    field.default_kind = DefaultKind::kDependent;
    field.default_text = how;
    return *this;
  }
  Row& None() {
    field.default_kind = DefaultKind::kNone;
    return *this;
  }
  Row& Required() {
    field.default_kind = DefaultKind::kRequired;
    return *this;
  }
  Row& Fixed() {
    field.sweepable = false;
    return *this;
  }
  Row& Help(const char* help) {
    field.help = help;
    return *this;
  }
  operator Field() const { return field; }  // NOLINT: implicit
};

// In training_fields.cc. Each appends its rows.
void AddModelFields(std::vector<Field>& t);
void AddTrainFields(std::vector<Field>& t);
void AddOptimizerFields(std::vector<Field>& t);  // of schedule too

}  // namespace dt::spec::internal
