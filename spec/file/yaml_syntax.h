// yaml_syntax.h: explains an error of YAML's grammar in words of the file.
//
// Role:   pure. yaml-cpp names what its grammar wanted ("end of map flow not found"); a person
//         wants to know which bracket, quote or indentation to correct.
// Tests:  tests/spec/file/yaml_syntax_test.cc, tests/fuzz/experiment_file_fuzz.cc
#pragma once

#include <string>
#include <string_view>

namespace dt::spec {

struct SyntaxText {
  std::string message;
  std::string hint;  // "": the fix is not known
};
// `complaint`: yaml-cpp's message for the error at this line and column, which count from 1 and may
// lie outside of the text.
SyntaxText ExplainSyntax(std::string_view text, int line, int column, std::string_view complaint);

}  // namespace dt::spec
