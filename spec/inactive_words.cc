#include "spec/inactive_words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spec/program.h"

namespace dt::spec {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kEnds = " \t\n;|&()<>";

// Returns whether the word is the option that a value follows: "--momentum", "-m".
bool IsOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word != "--" &&
         word.find_first_of("={}") == std::string_view::npos;
}

// Returns whether the word may be the value of an option before it: it is neither an option itself
// nor NAME=VALUE.
bool IsValue(std::string_view word) {
  const size_t first = word.find_first_not_of("\"'");
  return first != std::string_view::npos && word[first] != '-' &&
         word.find('=') == std::string_view::npos;
}

// Splits a text of the shell into words and what stands between them.
std::vector<std::string> PiecesOf(std::string_view text) {
  std::vector<std::string> pieces;
  std::string word;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escaped = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escaped) {
      word += text.substr(i++, 2);
    } else if (quote != 0 || kEnds.find(c) == std::string_view::npos) {
      if (quote == c) {
        quote = 0;
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      }
      word += c;
    } else {
      if (!word.empty()) pieces.push_back(std::exchange(word, ""));
      pieces.emplace_back(1, c);
    }
  }
  if (!word.empty()) pieces.push_back(std::move(word));
  return pieces;
}

bool IsBlank(const std::string& piece) {
  return piece.size() == 1 && kBlanks.find(piece[0]) != std::string_view::npos;
}

// Removes the blanks at the end, and returns whether there were any.
bool DropBlanks(std::vector<std::string>& pieces) {
  const size_t before = pieces.size();
  while (!pieces.empty() && IsBlank(pieces.back())) pieces.pop_back();
  return pieces.size() < before;
}

}  // namespace

bool NamesAny(std::string_view text, const NameSet& names) {
  if (text.find('{') == std::string_view::npos) return false;
  NamedValues values;
  for (const std::string& name : names) values[name];
  const absl::StatusOr<Substitution> found = Substituted(text, values);
  return found.ok() && !found->used.empty();
}

std::vector<std::string> WithoutInactive(std::vector<std::string> words, const NameSet& inactive) {
  if (inactive.empty()) return words;
  std::vector<std::string> kept;
  for (std::string& word : words) {
    if (!NamesAny(word, inactive)) {
      kept.push_back(std::move(word));
    } else if (IsValue(word) && !kept.empty() && IsOption(kept.back())) {
      kept.pop_back();
    }
  }
  return kept;
}

std::string ShellWithoutInactive(std::string_view text, const NameSet& inactive) {
  if (inactive.empty() || !NamesAny(text, inactive)) return std::string(text);
  std::vector<std::string> kept;
  for (std::string& piece : PiecesOf(text)) {
    if (!NamesAny(piece, inactive)) {
      kept.push_back(std::move(piece));
      continue;
    }
    const bool apart = DropBlanks(kept);
    const bool option = IsValue(piece) && apart && !kept.empty() && IsOption(kept.back());
    if (!option) continue;
    kept.pop_back();
    DropBlanks(kept);
  }
  std::string out;
  for (const std::string& piece : kept) absl::StrAppend(&out, piece);
  return out;
}

}  // namespace dt::spec
