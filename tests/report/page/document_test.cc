// document_test.cc: blocks as HTML and Markdown; no user's text becomes markup.
#include "report/page/document.h"

#include "gtest/gtest.h"
#include "report/words/escape.h"
#include "tests/report/fixture.h"

namespace dt::report {
namespace {

constexpr char kHostile[] =
    "<script>alert('1')</script> | `x` *b* [a](javascript:c) \"q\" & \x1b[2J";

Document Hostile() {
  LineChart lines;
  lines.title = lines.x_label = lines.y_label = lines.marks_name = kHostile;
  lines.lines.push_back({kHostile, LookOf(0), {{1, 2}, {2, 3}}, {}, {{1, 2}}, {2}});
  lines.floor_name = kHostile;
  BarChart bars;
  bars.title = bars.x_label = kHostile;
  bars.parts = {kHostile};
  bars.bars.push_back({kHostile, {1}});
  Document document;
  document.title = kHostile;
  document.blocks = {Heading{kHostile},
                     Paragraph{kHostile},
                     Facts{{{kHostile, kHostile}}},
                     TextTable{kHostile, {kHostile}, {{kHostile}}, 1},
                     Figure{lines, kHostile},
                     Figure{bars, kHostile},
                     Verbatim{kHostile, std::string("```\n") + kHostile}};
  return document;
}

TEST(HtmlTest, EscapesEveryTextInAnyPlace) {
  const std::string page = HtmlPage(Hostile());
  EXPECT_FALSE(Has(page, "<script"));
  EXPECT_FALSE(Has(page, "\x1b"));
  EXPECT_FALSE(Has(page, "\"q\""));
  EXPECT_TRUE(Has(page, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
}

TEST(HtmlTest, AHashIsShortAndShownInFullUnderThePointer) {
  const std::string hash = std::string(64, 'a') + "-" + std::string(64, 'b');
  Document document;
  TextTable table{"", {"trial", "data"}, {{"12/1", hash}, {"12/2", "deadbeef"}}, 2};
  table.marked = 1;
  document.blocks = {table};
  const std::string page = HtmlPage(document);
  EXPECT_TRUE(Has(page, "<td class=\"t\" title=\"" + hash + "\">aaaaaaaaaaaa…</td>")) << page;
  EXPECT_TRUE(Has(page, ">deadbeef</td>"));
  EXPECT_TRUE(Has(page, "<tr class=\"m\"><th scope=\"row\" class=\"t\">12/2</th>"));
}

TEST(HtmlTest, NoNumberAndNoWordIsBrokenAndLongTextHasRoomToBeRead) {
  Document document;
  const std::string prose = "rank 0 ended: it asked for more memory than there was to be had";
  document.blocks = {TextTable{"", {"trial", "why", "loss"}, {{"12/1", prose, "0.0010785"}}, 2}};
  const std::string page = HtmlPage(document);
  EXPECT_TRUE(Has(page, "tbody th, td { white-space: nowrap; }"));
  EXPECT_TRUE(Has(page, "<td>0.0010785</td>")) << page;
  EXPECT_TRUE(Has(page, "<th scope=\"row\" class=\"t\">12/1</th>"));
  EXPECT_TRUE(Has(page, "<td class=\"t l\">" + prose + "</td>"));
  EXPECT_TRUE(Has(page, "td.l, th.l { white-space: normal; min-width: 16rem;"));
}

TEST(HtmlTest, ATableOrAFigureThatIsTooWideScrollsInItsOwnBox) {
  const std::string page = HtmlPage(Hostile());
  EXPECT_TRUE(Has(page, ".wide { overflow-x: auto"));
  size_t wide = 0;
  for (const char* element : {"<table", "<svg"}) {
    for (size_t at = page.find(element); at != std::string::npos; at = page.find(element, at + 1)) {
      const std::string box = "<div class=\"wide\">";
      const size_t opened = page.rfind("<div", at);
      EXPECT_EQ(page.compare(opened, box.size(), box), 0) << element;
      EXPECT_EQ(page.find("</div>", opened), page.find("</div>", at)) << element;
      ++wide;
    }
  }
  EXPECT_EQ(wide, 3u);
}

TEST(HtmlTest, FetchesNothingAndRunsNothing) {
  const std::string page = HtmlPage(Hostile());
  EXPECT_TRUE(Has(page, "default-src 'none'"));
  for (const char* word : {"src=", "href=", "url(", "@import"}) EXPECT_FALSE(Has(page, word));
}

TEST(MarkdownTest, EscapesMarkupAndEndsOfCells) {
  EXPECT_EQ(EscapeMarkdown("a|b <i> *x* `y` [z] # \\ &"),
            "a\\|b &lt;i&gt; \\*x\\* \\`y\\` \\[z\\] \\# \\\\ &amp;");
  EXPECT_EQ(EscapeMarkdown("train.batch_size _x_"), "train.batch_size \\_x\\_");
  EXPECT_EQ(EscapeMarkdown("two\nlines"), "two lines");
}

TEST(MarkdownTest, ATablesRowsHaveAsManyBarsAsItsHeader) {
  Document document;
  document.blocks = {TextTable{"", {"a", "b"}, {{"x|y", "1"}, {"<b>", "2"}}, 1}};
  EXPECT_TRUE(
      Has(MarkdownPage(document), "| a | b |\n|---|---:|\n| x\\|y | 1 |\n| &lt;b&gt; | 2 |\n"));
}

TEST(MarkdownTest, AFenceIsLongerThanAnyInTheText) {
  Document document;
  document.blocks = {Verbatim{"file", "```\n````\nend"}};
  EXPECT_TRUE(Has(MarkdownPage(document), "\n`````\n```\n````\nend\n`````\n"));
}

TEST(MarkdownTest, SaysThatHtmlHasTheFigures) {
  EXPECT_TRUE(Has(MarkdownPage(Hostile()), "2 figures"));
}

}  // namespace
}  // namespace dt::report
