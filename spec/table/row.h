// row.h: builders for the rows of the field table.
//
// Role: used only by this room's tables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "spec/table/field.h"

namespace dt::spec::internal {

using enum FieldType;

// Sizes beyond which a number is a typing mistake: far above any model of today, far below values
// whose product would overflow.
inline constexpr double kSizeMax = 1 << 20;
// Bound of counts of steps and tokens, and of seeds.
inline constexpr double kCountMax = kWholeMax;
// The same for counts that a message holds in 32 bits.
inline constexpr double kCount32Max = (1ll << 31) - 1;
// Seconds between checkpoints: with less, saving would never end; more than a month is a mistake.
inline constexpr double kEveryMin = 0.01;
inline constexpr double kEveryMax = 30 * 24 * 3600.0;
// Seconds that a trial may train: more than a year is a mistake.
inline constexpr double kTrainingMax = 365 * 24 * 3600.0;

// The default of a field: a value, a rule over other fields, or nothing.
struct Default {
  DefaultKind kind;
  const char* text;
  constexpr Default(const char* value) : Default(DefaultKind::kFixed, value) {}  // NOLINT: implicit
  constexpr Default(DefaultKind kind, const char* text) : kind(kind), text(text) {}
};
constexpr Default Depends(const char* how) { return {DefaultKind::kDependent, how}; }
constexpr Default kEmpty{DefaultKind::kNone, ""};
constexpr Default kMustSay{DefaultKind::kRequired, ""};

// A row, with setters for its rarer properties.
struct Row : Field {
  Row(const char* path_, FieldType type_, const Default& otherwise, const char* help_) {
    path = path_;
    type = type_;
    default_kind = otherwise.kind;
    default_text = otherwise.text;
    help = help_;
  }
  Row& Range(double least, double most) {
    min = least;
    max = most;
    return *this;
  }
  Row& AboveMin() {
    min_exclusive = true;
    return *this;
  }
  Row& BelowMax() {
    max_exclusive = true;
    return *this;
  }
  Row& Glob() {
    glob = true;
    return *this;
  }
  Row& Later(std::vector<std::string> words) {
    later = std::move(words);
    return *this;
  }
  Row& Means(std::string word, std::string choice) {
    synonyms.emplace_back(std::move(word), std::move(choice));
    return *this;
  }
  Row& Open() {
    open = true;
    return *this;
  }
  Row& OneText() {
    one_text = true;
    return *this;
  }
  Row& Fixed() {
    sweepable = false;
    return *this;
  }
  Row& WithinRun() {
    within_run = true;
    return *this;
  }
  Row& Placing() {
    placing = true;
    return *this;
  }
};

// Columns for each type: path, allowed values, default, help.
inline Row Integer(const char* path, double min, double max, const Default& otherwise,
                   const char* help) {
  return Row(path, kInteger, otherwise, help).Range(min, max);
}
inline Row Number(const char* path, double min, double max, const Default& otherwise,
                  const char* help) {
  return Row(path, kNumber, otherwise, help).Range(min, max);
}
inline Row Numbers(const char* path, int count, double min, double max, const Default& otherwise,
                   const char* help) {
  Row row = Row(path, kNumbers, otherwise, help).Range(min, max);
  row.count = count;
  return row;
}
inline Row Duration(const char* path, double min, double max, const Default& otherwise,
                    const char* help) {
  return Row(path, kDuration, otherwise, help).Range(min, max);
}
inline Row Choice(const char* path, std::vector<std::string> words, const Default& otherwise,
                  const char* help) {
  Row row(path, kChoice, otherwise, help);
  row.choices = std::move(words);
  return row;
}
inline Row Text(const char* path, const Default& otherwise, const char* help) {
  return {path, kText, otherwise, help};
}
inline Row Texts(const char* path, int most, const Default& otherwise, const char* help) {
  Row row(path, kTexts, otherwise, help);
  row.count = most;
  return row;
}
inline Row Flag(const char* path, const Default& otherwise, const char* help) {
  return {path, kFlag, otherwise, help};
}

}  // namespace dt::spec::internal
