// frames_fuzz.cc: any bytes as a frame between agent and trainer, in both directions: refused with
// a reason, or written and read back the same; and a trainer's frames as the agent passes them on.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "common/text.h"
#include "worker/agent/convert.h"
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

// A message of the control plane holds only UTF-8, whatever a trainer sends.
void PassOn(const dt::frames::FromTrainer& frame) {
  if (const auto* step = std::get_if<dt::frames::StepDone>(&frame)) {
    dt::RowFromJson(step->row);
  } else if (const auto* prepared = std::get_if<dt::frames::Prepared>(&frame)) {
    dt::frames::Hello hello;
    hello.torch_version = prepared->data_fingerprint;
    if (!dt::IsUtf8(dt::ToMessage(*prepared, hello, "host").provenance().torch_version())) {
      std::abort();
    }
  } else if (const auto* evaluation = std::get_if<dt::frames::Eval>(&frame)) {
    if (!dt::IsUtf8(dt::ToMessage(*evaluation).split())) std::abort();
  } else if (const auto* checkpoint = std::get_if<dt::frames::CheckpointDone>(&frame)) {
    if (!dt::IsUtf8(dt::ToMessage(*checkpoint, "st").path())) std::abort();
  } else if (const auto* end = std::get_if<dt::frames::End>(&frame)) {
    if (dt::CauseFromWord(end->cause) == dtrain::v1::CAUSE_UNSPECIFIED) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  Check<dt::frames::ToTrainer>(line, dt::frames::ParseToTrainer);
  Check<dt::frames::FromTrainer>(line, dt::frames::ParseFromTrainer);
  const auto read = dt::frames::ParseFromTrainer(line);
  if (const auto* frame = std::get_if<dt::frames::FromTrainer>(&read)) PassOn(*frame);
  return 0;
}
