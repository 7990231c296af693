// library_words.h: what a library says of a failure, as a person reads it.
//
// Role:  pure.
// Tests: tests/common/library_words_test.cc
#pragma once

#include <string>
#include <string_view>

namespace dt {

// Drops places in a library's source ("[…/gloo/transport/tcp/pair.cc:547] "), and writes times in
// milliseconds as a person counts them: "Timed out waiting 600000ms for recv operation" becomes
// "Timed out waiting 10 min for recv operation".
std::string InPlainWords(std::string_view text);

}  // namespace dt
