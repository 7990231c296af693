#include "report/words/escape.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"

namespace dt::report {

std::string EscapeHtml(std::string_view text) {
  return absl::StrReplaceAll(
      Printable(text, Newlines::kKeep),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string EscapeMarkdown(std::string_view text) {
  const std::string shown = Printable(text);
  const auto word = [&](size_t at) { return at < shown.size() && absl::ascii_isalnum(shown[at]); };
  std::string escaped;
  for (size_t i = 0; i < shown.size(); ++i) {
    const bool within = shown[i] == '_' && i > 0 && word(i - 1) && word(i + 1);  // no markup
    if (!within && std::string_view("\\`*_[]#|~").find(shown[i]) != std::string_view::npos) {
      escaped += '\\';
    }
    escaped += shown[i];
  }
  return absl::StrReplaceAll(escaped, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace dt::report
