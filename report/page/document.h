// document.h: a report as blocks, written as HTML or Markdown.
//
// Role:      pure. Every text in a block is plain. The writers escape it, so that no name, message
//            or file of a user becomes markup.
// Invariant: the same document gives the same bytes.
// Tests:     tests/report/page/document_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/figures/chart.h"
#include "report/figures/dot_chart.h"
#include "report/figures/parallel_chart.h"

namespace dt::report {

struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
};
// Names with their values, a line each. Lines without a value are left out.
struct Facts {
  std::vector<std::pair<std::string, std::string>> rows;
};
struct TextTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as header; the first cell names it
  size_t text_columns = 1;                     // columns of text, from the left; then numbers
  size_t marked = SIZE_MAX;                    // a row to highlight
};
struct Figure {
  std::variant<LineChart, BarChart, ParallelChart, DotChart> chart;
  std::string note;
};
// Preformatted text, such as a file.
struct Verbatim {
  std::string caption;
  std::string text;
};
using Block = std::variant<Heading, Paragraph, Facts, TextTable, Figure, Verbatim>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
};

// Returns a single file without scripts or fetches, for light, dark and print.
std::string HtmlPage(const Document& document);
// Returns tables and text, and a note at the end that only HTML has the figures.
std::string MarkdownPage(const Document& document);

}  // namespace dt::report
