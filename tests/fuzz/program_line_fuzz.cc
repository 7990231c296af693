// program_line_fuzz.cc: any bytes as a line that a program prints: a reason, or values within
// bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "common/limits.h"
#include "worker/program/near_miss.h"
#include "worker/program/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto near = dt::program::FindNearMiss(line, "val_loss"); near && near->why.empty()) {
    std::abort();
  }
  const auto read = dt::program::ReadReport(line, "val_loss");
  if (const auto* wrong = std::get_if<dt::program::WrongLine>(&read)) {
    if (wrong->why.empty()) std::abort();
    return 0;
  }
  const auto& report = std::get<dt::program::Report>(read);
  if (report.progress && !(*report.progress >= 0 && *report.progress <= 1)) std::abort();
  if (report.numbers.size() > dt::limits::kMetrics + 1) std::abort();
  if (dt::program::IsRow(report)) {
    for (const auto& [name, value] : report.numbers) {
      if (!dt::program::IsRowColumn(name)) std::abort();
    }
  }
  return 0;
}
