// columns.cc: see columns.h.
#include "common/columns.h"

#include <cstdint>

#include "common/text.h"

namespace dt {
namespace {

constexpr char kEllipsis[] = "…";

int WidthOf(uint32_t c) {
  const bool combining =
      (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F);
  if (combining) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
                    (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character point = FirstCharacter(text);
    width += WidthOf(point.code_point);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string Truncate(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  std::string kept;
  int used = 0;
  while (!text.empty()) {
    const Character point = FirstCharacter(text);
    const int columns = WidthOf(point.code_point);
    if (used + columns > width - 1) break;
    used += columns;
    kept += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  return kept + kEllipsis;
}

}  // namespace dt
