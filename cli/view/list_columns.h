// list_columns.h: the columns of a list, each written once: header, cell, name and value.
//
// Role:  pure. A column drives the table, `-o wide`, JSON and CSV. A list whose items are messages
//        takes JSON and CSV from the message: its columns have no names.
// Tests: tests/cli/view/list_columns_test.cc
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/view/json.h"
#include "cli/view/table.h"

namespace dt::cli {

template <typename Item>
struct ListColumn {
  Column column;
  std::function<Cell(const Item&)> cell;  // none: only in JSON and CSV
  std::string name;                       // in JSON and CSV; "": only in the table
  std::function<Json(const Item&)> value;
};
template <typename Item>
using ListColumns = std::vector<ListColumn<Item>>;

// Returns a table with a row for each item, in the order of the columns.
template <typename Item, typename Items>
Table MakeTable(const ListColumns<Item>& columns, const Items& items) {
  Table table;
  for (const ListColumn<Item>& one : columns) {
    if (one.cell) table.columns.push_back(one.column);
  }
  for (const Item& item : items) {
    std::vector<Cell>& row = table.rows.emplace_back();
    for (const ListColumn<Item>& one : columns) {
      if (one.cell) row.push_back(one.cell(item));
    }
  }
  return table;
}

// Returns the object of an item: the columns that have a name.
template <typename Item>
Json ItemJson(const ListColumns<Item>& columns, const Item& item) {
  Json json = Json::object();
  for (const ListColumn<Item>& one : columns) {
    if (!one.name.empty()) json[one.name] = one.value(item);
  }
  return json;
}

// Returns the names that ItemJson gives, in its order.
template <typename Item>
std::vector<std::string> NamesOf(const ListColumns<Item>& columns) {
  std::vector<std::string> names;
  for (const ListColumn<Item>& one : columns) {
    if (!one.name.empty()) names.push_back(one.name);
  }
  return names;
}

}  // namespace dt::cli
