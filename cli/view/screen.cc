#include "cli/view/screen.h"

#include "absl/strings/str_cat.h"

namespace dt::cli {

std::string Difference(const std::vector<std::string>& before,
                       const std::vector<std::string>& now) {
  std::string bytes = before.empty() && !now.empty() ? "\x1b[H\x1b[2J" : "";
  for (size_t i = 0; i < now.size(); ++i) {
    if (i < before.size() && before[i] == now[i]) continue;
    // Wipes before writing: after a line as wide as the screen, the cursor is still on the last
    // column.
    absl::StrAppend(&bytes, "\x1b[", i + 1, ";1H\x1b[K", now[i]);
  }
  if (now.size() < before.size()) absl::StrAppend(&bytes, "\x1b[", now.size() + 1, ";1H\x1b[J");
  return bytes;
}

}  // namespace dt::cli
