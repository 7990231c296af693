// metric_name.h: the names that a program's parameters and metrics may have.
#pragma once

#include <algorithm>
#include <string_view>

#include "common/limits.h"

namespace dt {

// Accepts a parameter's name: a letter or _, then letters, digits and _ . - and /. Names with / are
// refused by the caller.
inline bool IsPlainName(std::string_view text, size_t bytes_max) {
  if (text.empty() || text.size() > bytes_max) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
         });
}

// Accepts the names of metrics in W&B and other tools: "val/AR@100", "top-5 acc (%)", "loss[0]".
// Excludes the characters that delimit lists, strings, shell words and markup.
inline bool IsMetricName(std::string_view text) {
  constexpr std::string_view kMarks = "_-./@:%+=#()[]^*!?~ ";
  if (text.empty() || text.size() > limits::kMetricNameBytes) return false;
  if (text.front() == ' ' || text.back() == ' ' || text.front() == '-') return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alnum || kMarks.find(c) != std::string_view::npos;
  });
}
inline constexpr char kMetricNameRule[] =
    "it is no name for a metric; use letters, digits, spaces within and _ - . / @ : % + = # ( ) [ "
    "] "
    "^ * ! ? ~, at most 64 bytes, and neither - nor a space first";

}  // namespace dt
