// pattern.cc: matches part by part.
#include "common/pack/pattern.h"

#include <fnmatch.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/view.h"

namespace dt::pack {
namespace {

using Parts = std::vector<std::string>;

Parts PartsOf(std::string_view path) {
  Parts parts;
  for (const absl::string_view part : absl::StrSplit(View(path), '/', absl::SkipEmpty())) {
    if (part != ".") parts.emplace_back(part);
  }
  return parts;
}

}  // namespace

bool Matches(std::string_view pattern, std::string_view path) {
  const Parts wanted = PartsOf(pattern), parts = PartsOf(path);
  if (wanted.empty()) return false;
  // has[i][j]: whether wanted[i…] matches parts[j…], computed from the ends; without it ** would
  // try each length again.
  std::vector<std::vector<bool>> has(wanted.size() + 1, std::vector<bool>(parts.size() + 1, true));
  for (size_t i = wanted.size(); i-- > 0;) {
    has[i][parts.size()] = wanted[i] == "**" && has[i + 1][parts.size()];
    for (size_t j = parts.size(); j-- > 0;) {
      if (wanted[i] == "**") {
        has[i][j] = has[i + 1][j] || has[i][j + 1];
      } else {
        has[i][j] =
            fnmatch(wanted[i].c_str(), parts[j].c_str(), FNM_NOESCAPE) == 0 && has[i + 1][j + 1];
      }
    }
  }
  return has[0][0];
}

}  // namespace dt::pack
