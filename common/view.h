// view.h: the distribution's Abseil has its own string_view, and StrCat takes no std:: one.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace dt {

inline absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace dt
