// error_text.cc: see error_text.h.
#include "coordinator/core/model/error_text.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/view.h"

namespace dt {
namespace {

// Characters of names, numbers and paths.
bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/' || c == '.' ||
         c == '~' || c == '-' || c == '+' || c == '@' || c == '%';
}

// "exited with status 7", "signal 9": these numbers say what happened.
bool NumberMatters(std::string_view word_before) {
  constexpr std::array<std::string_view, 3> kWords = {"status", "signal", "code"};
  return std::find(kWords.begin(), kWords.end(), word_before) != kWords.end();
}

// Parts with a digit, such as 0x7f3a, a2 and step-100, and names that tempfile makes.
void AppendPlain(std::string_view word, std::string& text) {
  for (size_t at = 0; at < word.size();) {
    size_t end = at;
    while (end < word.size() && absl::ascii_isalnum(static_cast<unsigned char>(word[end]))) ++end;
    if (end == at) {
      text += word[at++];
      continue;
    }
    const std::string_view part = word.substr(at, end - at);
    const bool varies = part.starts_with("tmp") ||
                        std::any_of(part.begin(), part.end(),
                                    [](unsigned char c) { return absl::ascii_isdigit(c); });
    text += varies ? std::string_view("#") : part;
    at = end;
  }
}

}  // namespace

std::string ErrorOf(std::string_view message) {
  std::string text;
  std::string_view before;
  for (size_t at = 0; at < message.size();) {
    size_t end = at;
    while (end < message.size() && IsWordCharacter(message[end])) ++end;
    if (end == at) {
      text += message[at++];
      continue;
    }
    std::string_view word = message.substr(at, end - at);
    at = end;
    if (NumberMatters(before)) {
      text += word;
    } else {
      // A path counts by its file alone: its folders may be an attempt's own.
      const size_t slash = word.find_last_of('/');
      if (slash != std::string_view::npos) word.remove_prefix(slash + 1);
      AppendPlain(word, text);
    }
    before = word;
  }
  return text;
}

bool EndedFromOutside(std::string_view message) {
  constexpr std::array<std::string_view, 6> kSignals = {"(SIGKILL)", "(SIGTERM)",  "(SIGINT)",
                                                        "(SIGHUP)",  "status 137", "status 143"};
  return std::any_of(kSignals.begin(), kSignals.end(), [message](std::string_view signal) {
    return absl::StrContains(View(message), View(signal));
  });
}

bool IsFullDisk(std::string_view message) {
  constexpr std::array<std::string_view, 3> kWords = {"No space left on device", "ENOSPC",
                                                      "Disk quota exceeded"};
  return std::any_of(kWords.begin(), kWords.end(), [message](std::string_view words) {
    return absl::StrContains(View(message), View(words));
  });
}

}  // namespace dt
