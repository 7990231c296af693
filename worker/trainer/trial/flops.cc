// flops.cc: the count, and the data sheets.
#include "worker/trainer/trial/flops.h"

#include <array>

namespace dt::trainer {
namespace {

// TFLOP/s of the makers' data sheets, without sparsity, at the form's full power: matrix units with
// 16-bit numbers, with TF32, and fp32 without them.
struct Sheet {
  std::string_view name;  // whole words of what the driver calls it; the first that fits counts
  double half, tf32, fp32;
};
constexpr std::array<Sheet, 14> kSheets = {{
    {"H200 NVL", 836, 418, 60},
    {"H200", 989, 494.7, 67},
    {"H100 PCIe", 756, 378, 51},
    {"H100 NVL", 835, 417.5, 60},
    {"H100", 989, 494.7, 67},
    {"H800", 989, 494.7, 67},
    {"A100", 312, 156, 19.5},
    {"A800", 312, 156, 19.5},
    {"A40", 149.7, 74.8, 37.4},
    {"A30", 165, 82, 10.3},
    {"A10", 125, 62.5, 31.2},
    {"L40S", 362, 183, 91.6},
    {"L40", 181, 90.5, 90.5},
    {"L4", 121, 60, 30.3},
}};

bool HasWord(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return false;
  const auto divides = [](char c) { return c == ' ' || c == '-'; };
  const size_t end = at + word.size();
  return (at == 0 || divides(text[at - 1])) && (end == text.size() || divides(text[end]));
}

}  // namespace

double FlopsPerToken(const ModelSpec& model, int64_t seq_len) {
  const auto layers = static_cast<double>(model.n_layer);
  const auto width = static_cast<double>(model.n_embd);
  const auto ff = static_cast<double>(model.n_ff);
  const auto rows = static_cast<double>(model.vocab_pad);
  // Each weight: a multiplication and an addition, once forward and twice backward.
  const double products = 6 * (layers * (4 * width * width + 2 * width * ff) + rows * width);
  // Two products forward and five backward, as flash attention does them, of half the square.
  const double attention = 7 * width * static_cast<double>(seq_len) * layers;
  return products + attention;
}

std::optional<double> PeakFlops(std::string_view device_name, Compute resolved) {
  if (HasWord(device_name, "MIG")) return std::nullopt;
  for (const Sheet& sheet : kSheets) {
    if (!HasWord(device_name, sheet.name)) continue;
    switch (resolved) {
      case Compute::kBf16:
      case Compute::kFp16:
        return sheet.half * 1e12;
      case Compute::kTf32:
        return sheet.tf32 * 1e12;
      case Compute::kFp32:
        return sheet.fp32 * 1e12;
      case Compute::kAuto:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace dt::trainer
