#include "cli/commands/labels.h"

#include "cli/view/words.h"

namespace dt::cli {

absl::StatusOr<std::vector<v1::Label>> ParseLabels(const std::vector<std::string>& written) {
  std::vector<v1::Label> labels;
  for (const std::string& text : written) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("label '", Printable(text), "' is not key=value; write -l team=vision"));
    }
    v1::Label& label = labels.emplace_back();
    label.set_key(text.substr(0, equals));
    label.set_value(text.substr(equals + 1));
  }
  return labels;
}

}  // namespace dt::cli
