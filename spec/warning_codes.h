// warning_codes.h: codes of Issue by which callers recognise certain warnings.
#pragma once

#include <string_view>

namespace dt::spec {

// A program's parameter is swept, but no word of its command names it.
inline constexpr std::string_view kUnnamedParameter = "unnamed_parameter";

}  // namespace dt::spec
