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

// Returns a header and a line for each item. Nested objects become dotted columns, ';' joins lists,
// null is empty. Fields of an item beside `columns` are left out.
std::string CsvText(const std::vector<std::string>& columns, const std::vector<Json>& items);
std::string CsvCell(const Json& json);
std::string CsvLine(const std::vector<std::string>& cells);
// Returns the columns of an item in which nothing is null.
std::vector<std::string> CsvColumns(const Json& item);
// Returns `columns` with the assignments as one column for each parameter in `paths`, at the end.
// So the columns do not depend on which trials are listed.
std::vector<std::string> WithParameters(std::vector<std::string> columns,
                                        const std::vector<std::string>& paths);

}  // namespace dt::report
