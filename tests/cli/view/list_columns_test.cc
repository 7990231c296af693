// list_columns_test.cc: one list of columns gives the table, JSON and CSV.
#include "cli/view/list_columns.h"

#include "gtest/gtest.h"

namespace dt::cli {
namespace {

struct Worker {
  std::string name;
  int slots = 0;
};

const ListColumns<Worker>& Columns() {
  static const auto* const columns = new ListColumns<Worker>{
      {{"WORKER"},
       [](const Worker& one) {
         return Cell{one.name, Style::kBold};
       },
       "id",
       [](const Worker& one) { return Json(one.name); }},
      {{"SIZE", Align::kRight, Shown::kWide},
       [](const Worker& one) { return Cell{one.slots > 1 ? "large" : "small"}; }},
      {{}, {}, "slots", [](const Worker& one) { return Json(one.slots); }}};
  return *columns;
}

TEST(ListColumnsTest, AColumnWithoutACellIsNotInTheTable) {
  const Table table = MakeTable(Columns(), std::vector<Worker>{{"a", 1}, {"b", 2}});
  ASSERT_EQ(table.columns.size(), 2u);
  EXPECT_EQ(table.columns[1].header, "SIZE");
  EXPECT_EQ(table.columns[1].shown, Shown::kWide);
  ASSERT_EQ(table.rows.size(), 2u);
  ASSERT_EQ(table.rows[1].size(), 2u);
  EXPECT_EQ(table.rows[1][0].text, "b");
  EXPECT_EQ(table.rows[1][0].style, Style::kBold);
  EXPECT_EQ(table.rows[1][1].text, "large");
}

TEST(ListColumnsTest, AColumnWithoutANameIsNotInJsonAndCsv) {
  EXPECT_EQ(NamesOf(Columns()), (std::vector<std::string>{"id", "slots"}));
  EXPECT_EQ(ItemJson(Columns(), Worker{"b", 2}).dump(), R"({"id":"b","slots":2})");
}

}  // namespace
}  // namespace dt::cli
