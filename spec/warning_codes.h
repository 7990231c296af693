// warning_codes.h: codes of Issue by which others tell a warning from the rest.
#pragma once

#include <string_view>

namespace dt::spec {

// A program's parameter is swept, and no word of its command names it.
inline constexpr std::string_view kUnnamedParameter = "unnamed_parameter";

}  // namespace dt::spec
