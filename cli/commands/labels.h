// labels.h: labels as text, in commands and lists.
//
// Role:   pure.
// Errors: InvalidArgument for text that is not key=value.
// Tests:  tests/cli/commands/get_command_test.cc
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/view/words.h"
#include "common/text.h"
#include "dtrain/v1/model.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

absl::StatusOr<std::vector<v1::Label>> ParseLabels(const std::vector<std::string>& written);

template <typename Labels>
bool HasAll(const Labels& labels, const std::vector<v1::Label>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const v1::Label& want) {
    return std::any_of(labels.begin(), labels.end(), [&](const v1::Label& label) {
      return label.key() == want.key() && label.value() == want.value();
    });
  });
}

template <typename Labels>
std::string LabelsText(const Labels& labels) {
  std::string text;
  for (const v1::Label& label : labels) {
    absl::StrAppend(&text, text.empty() ? "" : ",", Printable(label.key()), "=",
                    Printable(label.value()));
  }
  return text.empty() ? kNone : text;
}

}  // namespace dt::cli
