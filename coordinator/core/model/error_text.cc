// error_text.cc: see error_text.h.
#include "coordinator/core/model/error_text.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/view.h"

namespace dt {
namespace {

// Returns whether names, numbers and paths may have this character.
bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/' || c == '.' ||
         c == '~' || c == '-' || c == '+' || c == '@' || c == '%';
}

// Returns whether the number after this word matters: "exited with status 7", "signal 9".
bool NumberMatters(std::string_view word_before) {
  constexpr std::array<std::string_view, 3> kWords = {"status", "signal", "code"};
  return std::find(kWords.begin(), kWords.end(), word_before) != kWords.end();
}

// Appends the word without parts that have a digit, such as 0x7f3a, a2 and step-100, and without
// names made by tempfile.
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
      // Only the file of a path counts: folders may belong to one attempt.
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
