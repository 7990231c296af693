#include "spec/file/yaml_syntax.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace dt::spec {
namespace {

// A longer line is not repeated in a hint.
constexpr size_t kLineShown = 120;

// Returns the offset of the first byte of a line; the size of the text: there is no such line.
size_t LineStart(std::string_view text, int line) {
  size_t start = 0;
  for (int i = 1; i < line; ++i) {
    const size_t newline = text.find('\n', start);
    if (newline == std::string_view::npos) return text.size();
    start = newline + 1;
  }
  return start;
}

// Returns a line without its indentation and its end; "": there is none.
std::string_view LineOf(std::string_view text, int line) {
  const std::string_view rest = text.substr(line < 1 ? text.size() : LineStart(text, line));
  std::string_view found = rest.substr(0, rest.find('\n'));
  while (!found.empty() && absl::ascii_isspace(static_cast<unsigned char>(found.front()))) {
    found.remove_prefix(1);
  }
  while (!found.empty() && absl::ascii_isspace(static_cast<unsigned char>(found.back()))) {
    found.remove_suffix(1);
  }
  return found;
}

struct Bracket {
  char open = '{';
  int line = 1, column = 1;
};

// Finds the brackets that are open at an offset. A bracket, a quote or a # within a word is text.
class OpenBrackets {
 public:
  std::vector<Bracket> Find(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      Take(text, i);
      last_ = text[i];
      if (!absl::ascii_isspace(static_cast<unsigned char>(last_))) last_word_ = last_;
      if (last_ == '\n') {
        ++line_;
        start_ = i + 1;
        last_word_ = '\n';
      }
    }
    return open_;
  }

 private:
  void Take(std::string_view text, size_t i) {
    const char c = text[i];
    if (comment_) {
      comment_ = c != '\n';
    } else if (quote_ != 0) {
      if (c == quote_ && !(quote_ == '"' && last_ == '\\')) quote_ = 0;
    } else if (c == '#' && absl::ascii_isspace(static_cast<unsigned char>(last_))) {
      comment_ = true;
    } else if ((c == '"' || c == '\'') && BeginsValue()) {
      quote_ = c;
    } else if ((c == '{' || c == '[') && BeginsValue()) {
      open_.push_back({c, line_, static_cast<int>(i - start_) + 1});
    } else if ((c == '}' || c == ']') && !open_.empty()) {
      open_.pop_back();
    }
  }
  bool BeginsValue() const {
    return last_word_ == ':' || last_word_ == '-' || last_word_ == '\n' ||
           (!open_.empty() && (last_word_ == ',' || last_word_ == '[' || last_word_ == '{'));
  }

  std::vector<Bracket> open_;
  bool comment_ = false;
  char quote_ = 0, last_ = '\n', last_word_ = '\n';
  int line_ = 1;
  size_t start_ = 0;  // of the line
};

// Returns the fix for a word such as --lr={lr} without quotes in a list in brackets: YAML takes its
// brace for the start of a map. "": the line has no such word.
std::string QuotesFor(std::string_view line) {
  for (size_t brace = line.find("={"); brace != std::string_view::npos;
       brace = line.find("={", brace + 1)) {
    const size_t word = line.find_last_of(" [,", brace) + 1;
    const size_t close = line.find('}', brace);
    if (line[word] == '"' || line[word] == '\'' || close == std::string_view::npos) continue;
    return absl::StrCat("put a word with braces into quotes: \"",
                        std::string(line.substr(word, close + 1 - word)), "\"");
  }
  return "";
}

SyntaxText ExplainBracket(std::string_view text, int line, int column) {
  if (std::string hint = QuotesFor(LineOf(text, line)); !hint.empty()) {
    return {"", std::move(hint)};
  }
  const size_t within = static_cast<size_t>(std::max(column, 1) - 1);
  const size_t at = std::min(text.size(), LineStart(text, line) + within);
  if (at < text.size() && text[at] == '{') {
    return {"a brace within a text begins no map",
            "put the text into quotes, such as pattern: 'step {step}: loss {loss}'"};
  }
  const std::vector<Bracket> open = OpenBrackets().Find(text.substr(0, at));
  if (open.empty()) return {};
  const Bracket& last = open.back();
  const std::string close = last.open == '{' ? "}" : "]";
  return {absl::StrCat("the ", std::string(1, last.open), " of line ", last.line, ", column ",
                       last.column, " is not closed here"),
          absl::StrCat("close it with ", close)};
}

// Explains a colon where YAML wants none.
SyntaxText ExplainColon(std::string_view text, int number) {
  const std::string_view line = LineOf(text, number);
  const size_t key = line.find(": ");
  const size_t second = key == std::string_view::npos ? key : line.find(": ", key + 2);
  if (second != std::string_view::npos) {
    const std::string_view value = line.substr(key + 2);
    const bool shown = line.size() <= kLineShown && value.find('\'') == std::string_view::npos;
    return {"a text without quotes has ': ' in it",
            shown ? absl::StrCat("put it into quotes: ", std::string(line.substr(0, key)), ": '",
                                 std::string(value), "'")
                  : "put it into quotes"};
  }
  // "lr:[1, 2]" in the line above is a text that goes on in this line.
  const std::string_view above = LineOf(text, number - 1);
  const size_t colon = above.find(':');
  const bool no_space = colon != std::string_view::npos && colon + 1 < above.size() &&
                        above[colon + 1] != ' ' && above.find(": ") == std::string_view::npos;
  if (!no_space) return {};
  return {absl::StrCat("line ", number - 1, " has no space after its colon"),
          above.size() > kLineShown
              ? "write one"
              : absl::StrCat("write ", std::string(above.substr(0, colon + 1)), " ",
                             std::string(above.substr(colon + 1)))};
}

}  // namespace

SyntaxText ExplainSyntax(std::string_view text, int line, int column, std::string_view complaint) {
  SyntaxText explained;
  if (complaint.ends_with("flow not found")) {
    explained = ExplainBracket(text, line, column);
  } else if (complaint == "illegal map value") {
    explained = ExplainColon(text, line);
  } else if (complaint == "end of map not found") {
    explained = {"this line fits no map above it",
                 "indent it as the keys of its section, and write KEY: VALUE"};
  } else if (complaint == "end of sequence not found") {
    explained = {"this line fits no list above it",
                 "indent it as the items of the list, after '- '"};
  }
  if (explained.message.empty()) explained.message = std::string(complaint);
  explained.message.insert(0, "this is not YAML: ");
  return explained;
}

}  // namespace dt::spec
