// html.cc: a report as one HTML file.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "report/page/document.h"
#include "report/words/escape.h"
#include "report/words/format.h"

namespace dt::report {
namespace {

// Style sheet. Colours have a contrast of at least 3:1 with the background, in light and in dark.
constexpr char kStyle[] = R"css(
:root { color-scheme: light dark;
  --ground: #ffffff; --ink: #1b1f24; --dim: #57606a; --rule: #d0d7de; --shade: #f4f6f8;
  --k0: #0072b2; --k1: #c94f00; --k2: #00795a; --k3: #b0478c;
  --k4: #8a6100; --k5: #5b4fc4; --k6: #a3252c; --k7: #4d4d4d; }
@media screen and (prefers-color-scheme: dark) { :root {
  --ground: #14171b; --ink: #e6e9ed; --dim: #9aa4af; --rule: #3a424b; --shade: #1d2227;
  --k0: #5eb8f0; --k1: #ff9a57; --k2: #3fcfa3; --k3: #f093cd;
  --k4: #e0b84a; --k5: #afa6ff; --k6: #ff8088; --k7: #c8c8c8; } }
body { background: var(--ground); color: var(--ink); max-width: 76rem; margin: 2rem auto;
  padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin-bottom: .5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1.5rem; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; max-width: 100%; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
caption { text-align: left; color: var(--dim); padding-bottom: .4rem; }
th, td { border-bottom: 1px solid var(--rule); padding: .25rem .5rem; text-align: right;
  overflow-wrap: normal; word-break: normal; }
tbody th, td { white-space: nowrap; }
th { font-weight: 600; } thead th { background: var(--shade); }
.t { text-align: left; }
td.l, th.l { white-space: normal; min-width: 16rem; max-width: 24rem; overflow-wrap: anywhere; }
tbody th { position: sticky; left: 0; background: var(--ground); }
.m th, .m td { font-weight: 600; background: var(--shade); }
figure { margin: 1.5rem 0; } figure .wide { margin: 0; } figure svg { min-width: 44rem; }
figcaption, .note { color: var(--dim); font-size: .9rem; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .h { font-size: 14px; font-weight: 600; } svg .d { fill: var(--dim); }
svg .p { paint-order: stroke; stroke: var(--ground); stroke-width: 3; }
svg .s { opacity: .18; }
svg .q { stroke-width: 1; opacity: .3; }
svg .g { stroke: var(--rule); stroke-width: 1; fill: none; }
svg .a { stroke: var(--dim); stroke-width: 1; fill: none; }
pre { background: var(--shade); padding: .8rem 1rem; overflow-x: auto; font-size: 13px; }
@media (max-width: 34rem) { dl { grid-template-columns: minmax(0, 1fr); }
  dd { margin-bottom: .3rem; } tbody th { position: static; } td.l, th.l { min-width: 12rem; } }
@media print { body { max-width: none; margin: 0; font-size: 10pt; } pre { white-space: pre-wrap; }
  table { font-size: 8pt; } th, td { padding: .15rem .3rem; }
  figure, table { break-inside: avoid; } h2 { break-after: avoid; } .wide { overflow: visible; }
  figure svg { min-width: 0; } tbody th { position: static; } }
)css";

std::string Style() {
  std::string style = kStyle;
  for (size_t i = 0; i < kColours; ++i) {
    absl::StrAppend(&style, ".c", i, " { stroke: var(--k", i,
                    "); stroke-width: 1.6; fill: none; } .f", i, " { fill: var(--k", i, "); }\n");
  }
  return style;
}

void Append(std::string& page, const Facts& facts) {
  page += "<dl>\n";
  for (const auto& [name, text] : facts.rows) {
    if (text.empty()) continue;
    absl::StrAppend(&page, "<dt>", EscapeHtml(name), "</dt><dd>", EscapeHtml(text), "</dd>\n");
  }
  page += "</dl>\n";
}

// Shortens a hash to its first digits. The pointer shows all of them.
bool IsHash(const std::string& text) {
  constexpr size_t kShortest = 32;
  return text.size() >= kShortest &&
         text.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

// Returns the classes and the content of a cell. Only long text is broken into lines, and no number
// or word is split.
std::string Cell(const std::string& text, bool is_text) {
  constexpr size_t kHashShown = 12;
  constexpr int kLong = 40;  // columns
  const bool hash = IsHash(text);
  const bool wraps = is_text && !hash && DisplayWidth(text) > kLong;
  const std::string cell = wraps ? " class=\"t l\"" : is_text ? " class=\"t\"" : "";
  if (!hash) return absl::StrCat(cell, ">", EscapeHtml(text));
  return absl::StrCat(cell, " title=\"", text, "\">", text.substr(0, kHashShown), "…");
}

void Append(std::string& page, const TextTable& table) {
  page += "<div class=\"wide\"><table>\n";
  if (!table.caption.empty()) {
    absl::StrAppend(&page, "<caption>", EscapeHtml(table.caption), "</caption>\n");
  }
  const auto text = [&](size_t column) {
    return column < table.text_columns ? " class=\"t\"" : "";
  };
  page += "<thead><tr>";
  for (size_t i = 0; i < table.header.size(); ++i) {
    absl::StrAppend(&page, "<th scope=\"col\"", text(i), ">", EscapeHtml(table.header[i]), "</th>");
  }
  page += "</tr></thead>\n<tbody>\n";
  for (size_t number = 0; number < table.rows.size(); ++number) {
    const std::vector<std::string>& row = table.rows[number];
    const bool marked = number == table.marked;
    page += marked ? "<tr class=\"m\">" : "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&page, i == 0 ? "<th scope=\"row\"" : "<td",
                      Cell(row[i], i < table.text_columns), i == 0 ? "</th>" : "</td>");
    }
    page += "</tr>\n";
  }
  page += "</tbody></table></div>\n";
}

void Append(std::string& page, const Figure& figure, int id) {
  absl::StrAppend(&page, "<figure>\n<div class=\"wide\">\n");
  if (const auto* lines = std::get_if<LineChart>(&figure.chart)) {
    page += LineChartSvg(*lines, id);
  } else if (const auto* parallel = std::get_if<ParallelChart>(&figure.chart)) {
    page += ParallelChartSvg(*parallel, id);
  } else if (const auto* dots = std::get_if<DotChart>(&figure.chart)) {
    page += DotChartSvg(*dots, id);
  } else {
    page += BarChartSvg(std::get<BarChart>(figure.chart), id);
  }
  page += "</div>\n";
  if (!figure.note.empty()) {
    absl::StrAppend(&page, "<figcaption>", EscapeHtml(figure.note), "</figcaption>\n");
  }
  page += "</figure>\n";
}

}  // namespace

std::string HtmlPage(const Document& document) {
  const std::string title = EscapeHtml(document.title);
  std::string page = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
      "<title>", title, "</title>\n<style>", Style(), "</style>\n</head>\n<body>\n<h1>", title,
      "</h1>\n");
  int figures = 0;
  for (const Block& block : document.blocks) {
    if (const auto* heading = std::get_if<Heading>(&block)) {
      absl::StrAppend(&page, "<h2>", EscapeHtml(heading->text), "</h2>\n");
    } else if (const auto* paragraph = std::get_if<Paragraph>(&block)) {
      absl::StrAppend(&page, "<p>", EscapeHtml(paragraph->text), "</p>\n");
    } else if (const auto* facts = std::get_if<Facts>(&block)) {
      Append(page, *facts);
    } else if (const auto* table = std::get_if<TextTable>(&block)) {
      Append(page, *table);
    } else if (const auto* verbatim = std::get_if<Verbatim>(&block)) {
      absl::StrAppend(&page, "<p class=\"note\">", EscapeHtml(verbatim->caption), "</p>\n<pre>",
                      EscapeHtml(verbatim->text), "</pre>\n");
    } else {
      Append(page, std::get<Figure>(block), ++figures);
    }
  }
  return page + "</body>\n</html>\n";
}

}  // namespace dt::report
