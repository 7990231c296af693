// layout.h: the pictures of a search, in the order in which the page and a report show them.
//
// Source: layout.txt, a name a line. The page has the same list: coordinator/http/ makes layout.js.
// Tests:  tests/report/page/search_pictures_test.cc, tests/e2e/page_parameters.py
#pragma once

#include <string>
#include <vector>

namespace dt::report {

const std::vector<std::string>& Layout();

}  // namespace dt::report
