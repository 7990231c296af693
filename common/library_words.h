// library_words.h: turns a library's error text into one that people can read.
//
// Role:  pure.
// Tests: tests/common/library_words_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

// Drops places in a library's source ("[…/gloo/transport/tcp/pair.cc:547] "), and shortens times in
// milliseconds: "Timed out waiting 600000ms for recv operation" becomes "Timed out waiting 10 min
// for recv operation".
std::string InPlainWords(std::string_view text);

}  // namespace dt
