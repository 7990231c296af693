// frames_fuzz.cc: any bytes as a frame between agent and trainer, in both directions: refused with
// a reason, or written and read the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "worker/frames/frames.h"

namespace {

using dt::frames::InvalidFrame;

template <typename Frame, typename Parse>
void Check(std::string_view line, Parse parse) {
  const std::variant<Frame, InvalidFrame> read = parse(line);
  if (const auto* invalid = std::get_if<InvalidFrame>(&read)) {
    if (invalid->reason.empty()) std::abort();
    return;
  }
  const std::string written = dt::frames::ToLine(std::get<Frame>(read));
  if (written.find('\n') != std::string::npos) std::abort();
  const std::variant<Frame, InvalidFrame> again = parse(written);
  if (!std::holds_alternative<Frame>(again)) std::abort();
  if (dt::frames::ToLine(std::get<Frame>(again)) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  Check<dt::frames::ToTrainer>(line, dt::frames::ParseToTrainer);
  Check<dt::frames::FromTrainer>(line, dt::frames::ParseFromTrainer);
  return 0;
}
