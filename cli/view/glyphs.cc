#include "cli/view/glyphs.h"

#include <algorithm>
#include <cmath>

namespace dt::cli {

std::string Bar(double ratio, int width, Glyphs glyphs) {
  const double clamped = std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0.0;
  std::string bar;
  if (glyphs == Glyphs::kAscii) {
    const int full = static_cast<int>(clamped * width);
    return std::string(full, '#') + std::string(width - full, '.');
  }
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(clamped * width * 8);
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0 ? 1 : 0);
  for (int i = used; i < width; ++i) bar += "░";
  return bar;
}

}  // namespace dt::cli
