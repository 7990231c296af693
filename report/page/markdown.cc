// markdown.cc: a report as Markdown with GitHub's tables.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "report/page/document.h"
#include "report/words/escape.h"
#include "report/words/format.h"

namespace dt::report {
namespace {

void AppendRow(std::string& page, const std::vector<std::string>& cells) {
  page += "|";
  for (const std::string& cell : cells) absl::StrAppend(&page, " ", EscapeMarkdown(cell), " |");
  page += "\n";
}

void AppendMarkdown(std::string& page, const TextTable& table) {
  if (!table.caption.empty()) absl::StrAppend(&page, EscapeMarkdown(table.caption), "\n\n");
  AppendRow(page, table.header);
  page += "|";
  for (size_t i = 0; i < table.header.size(); ++i) {
    page += i < table.text_columns ? "---|" : "---:|";
  }
  page += "\n";
  for (const auto& row : table.rows) AppendRow(page, row);
  page += "\n";
}

void AppendMarkdown(std::string& page, const Facts& facts) {
  for (const auto& [name, text] : facts.rows) {
    if (text.empty()) continue;
    absl::StrAppend(&page, "- ", EscapeMarkdown(name), ": ", EscapeMarkdown(text), "\n");
  }
  page += "\n";
}

// Fences the text with more backticks than any run within it.
void AppendMarkdown(std::string& page, const Verbatim& block) {
  size_t longest = 0;
  size_t run = 0;
  for (const char c : block.text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(std::max<size_t>(3, longest + 1), '`');
  std::string text = Printable(block.text, Newlines::kKeep);
  if (!text.empty() && text.back() != '\n') text += '\n';
  absl::StrAppend(&page, EscapeMarkdown(block.caption), "\n\n", fence, "\n", text, fence, "\n\n");
}

}  // namespace

std::string MarkdownPage(const Document& document) {
  std::string page = absl::StrCat("# ", EscapeMarkdown(document.title), "\n\n");
  size_t figures = 0;
  const Heading* due = nullptr;  // written only if something other than figures follows
  for (const Block& block : document.blocks) {
    if (const auto* heading = std::get_if<Heading>(&block)) {
      due = heading;
      continue;
    }
    if (std::holds_alternative<Figure>(block)) {
      ++figures;
      continue;
    }
    if (due != nullptr) absl::StrAppend(&page, "## ", EscapeMarkdown(due->text), "\n\n");
    due = nullptr;
    if (const auto* paragraph = std::get_if<Paragraph>(&block)) {
      absl::StrAppend(&page, EscapeMarkdown(paragraph->text), "\n\n");
    } else if (const auto* facts = std::get_if<Facts>(&block)) {
      AppendMarkdown(page, *facts);
    } else if (const auto* table = std::get_if<TextTable>(&block)) {
      AppendMarkdown(page, *table);
    } else {
      AppendMarkdown(page, std::get<Verbatim>(block));
    }
  }
  if (figures > 0) {
    absl::StrAppend(&page, "The HTML report also has ", Plural(figures, "figure"), ".\n");
  }
  return page;
}

}  // namespace dt::report
