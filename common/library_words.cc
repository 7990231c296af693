#include "common/library_words.h"

#include <algorithm>
#include <cstdint>

namespace dt {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns whether `text` is "path/name.ext:12", of a file of C, C++ or CUDA.
bool IsPlace(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return false;
  const std::string_view line = text.substr(colon + 1);
  if (!std::all_of(line.begin(), line.end(), IsDigit)) return false;
  const std::string_view file = text.substr(0, colon);
  if (file.find(' ') != std::string_view::npos) return false;
  for (const std::string_view ending : {".cc", ".cpp", ".h", ".hpp", ".cu", ".cuh", ".c"}) {
    if (file.ends_with(ending)) return true;
  }
  return false;
}

// Returns "10 min", "90 s" or "250 ms".
std::string TimeText(uint64_t ms) {
  if (ms >= 60'000 && ms % 60'000 == 0) return std::to_string(ms / 60'000) + " min";
  if (ms >= 1000 && ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  return std::to_string(ms) + " ms";
}

}  // namespace

std::string InPlainWords(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '[') {
      const size_t end = text.find(']', at);
      if (end != std::string_view::npos && IsPlace(text.substr(at + 1, end - at - 1))) {
        at = end + 1;
        while (at < text.size() && text[at] == ' ') ++at;
        continue;
      }
    }
    const bool begins = IsDigit(text[at]) && (plain.empty() || plain.back() == ' ');
    size_t end = at;
    while (begins && end < text.size() && IsDigit(text[end])) ++end;
    const std::string_view rest = text.substr(end);
    const bool times = begins && end - at <= 18 && rest.starts_with("ms") &&
                       (rest.size() == 2 || rest[2] == ' ' || rest[2] == '.' || rest[2] == ',');
    if (times) {
      plain += TimeText(std::stoull(std::string(text.substr(at, end - at))));
      at = end + 2;
    } else {
      plain += text[at++];
    }
  }
  return plain;
}

}  // namespace dt
