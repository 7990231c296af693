// csv.h: JSON as comma-separated values.
//
// Role:  pure. Machine-readable: the columns and cells are API.
// Tests: tests/cli/view/json_test.cc
#pragma once

#include <string>
#include <vector>

#include "api/json.h"

namespace dt::report {

using api::Json;

// CSV: nested objects become dotted columns, lists are joined with ';', null is empty. What an item
// has beside the columns is left out.
std::string CsvText(const std::vector<std::string>& columns, const std::vector<Json>& items);
std::string CsvCell(const Json& json);
std::string CsvLine(const std::vector<std::string>& cells);
// The columns of an item in which nothing is null.
std::vector<std::string> CsvColumns(const Json& item);
// Assignments as one column for each of an experiment's parameters, behind the others: the same
// columns whichever trials are listed.
std::vector<std::string> WithParameters(std::vector<std::string> columns,
                                        const std::vector<std::string>& paths);

}  // namespace dt::report
