// inactive_words.h: leaves out words of a program that name a parameter which the trial does not
// have.
//
// Role:    pure. A word that names an inactive parameter is left out. If it is neither an option
//          nor NAME=VALUE, an option before it is left out too: of `--momentum {momentum}` both.
// Tests:   tests/spec/inactive_words_test.cc
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt::spec {

using NameSet = std::set<std::string, std::less<>>;

// Returns whether {name} of one of them stands in the text.
bool NamesAny(std::string_view text, const NameSet& names);
// Returns the words of a command without those that name one of `inactive`.
std::vector<std::string> WithoutInactive(std::vector<std::string> words, const NameSet& inactive);
// Returns the same for a text of the shell. A word ends at a blank or an operator that is not in
// quotation marks.
std::string ShellWithoutInactive(std::string_view text, const NameSet& inactive);

}  // namespace dt::spec
