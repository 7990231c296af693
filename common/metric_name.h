// metric_name.h: what a metric that a program reports may be called: a letter or _, then letters,
// digits and _ . - /.
#pragma once

#include <algorithm>
#include <string_view>

#include "common/limits.h"

namespace dt {

// A parameter of a program has such a name too, without a /.
inline bool IsPlainName(std::string_view text, size_t bytes_max) {
  if (text.empty() || text.size() > bytes_max) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
         });
}

inline bool IsMetricName(std::string_view text) {
  return IsPlainName(text, limits::kMetricNameBytes);
}

}  // namespace dt
