// document.h: a report as blocks, and the two ways to write them.
//
// Role:      pure. Every text in a block is plain: the writers escape it, so that no name, message
//            or file of a person becomes markup.
// Invariant: the same document gives the same bytes.
// Tests:     tests/report/page/document_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/figures/chart.h"
#include "report/figures/parallel_chart.h"

namespace dt::report {

struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
};
// Names and what they are, a line each; those without a text are left out.
struct Facts {
  std::vector<std::pair<std::string, std::string>> rows;
};
struct TextTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as header; the first cell names it
  size_t text_columns = 1;                     // that many from the left are text, others numbers
  size_t marked = SIZE_MAX;                    // a row that stands out
};
struct Figure {
  std::variant<LineChart, BarChart, ParallelChart> chart;
  std::string note;
};
// Text as it is, such as a file.
struct Verbatim {
  std::string caption;
  std::string text;
};
using Block = std::variant<Heading, Paragraph, Facts, TextTable, Figure, Verbatim>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
};

// One file: no script, nothing fetched, light and dark, fit for paper.
std::string HtmlPage(const Document& document);
// Tables and text; in place of figures, a note at the end that HTML has them.
std::string MarkdownPage(const Document& document);

}  // namespace dt::report
