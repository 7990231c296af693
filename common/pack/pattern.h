// pattern.h: whether a path is one of a pattern's files.
//
// Role:  pure. The Python client has the same rules (_pack.py), so that both pack the same.
// Tests: tests/common/pack/folder_test.cc
#pragma once

#include <string_view>

namespace dt::pack {

// Both are relative, with '/' between their parts. In a part *, ? and […] stand for anything but
// '/'; a part ** is any number of parts. A pattern that names a folder has everything below it.
bool Matches(std::string_view pattern, std::string_view path);

}  // namespace dt::pack
