// view.h: converts std::string_view for the distribution's Abseil, which has a string_view of its
// own and a StrCat that takes no std:: one.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace dt {

inline absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace dt
