// escape.h: escapes untrusted text for HTML, SVG and Markdown, so that none of it becomes markup.
//
// Role:  pure. Tests: tests/report/page/document_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt::report {

// Returns `text` for an element or a quoted attribute.
std::string EscapeHtml(std::string_view text);
// Returns `text` for a paragraph or for a cell of a table.
std::string EscapeMarkdown(std::string_view text);

}  // namespace dt::report
