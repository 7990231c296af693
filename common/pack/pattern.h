// pattern.h: decides whether a path matches a pattern.
//
// Role:  pure. The Python client has the same rules (_pack.py), so both pack the same files.
// Tests: tests/common/pack/folder_test.cc
#pragma once

#include <string_view>

namespace dt::pack {

// Both arguments are relative, with '/' between their parts. In a part *, ? and […] stand for
// anything but '/'; a part ** stands for any number of parts. A pattern that names a folder matches
// everything below it.
bool Matches(std::string_view pattern, std::string_view path);

}  // namespace dt::pack
