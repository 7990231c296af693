// flops.cc: converts the trainer's types to those of plan/.
#include "worker/trainer/trial/flops.h"

namespace dt::trainer {

plan::ModelSize SizeOf(const ModelSpec& model) {
  return {.layers = model.n_layer,
          .width = model.n_embd,
          .feed_forward = model.n_ff,
          .learned_positions = model.positions == Positions::kLearned ? model.n_positions : 0,
          .rows = model.vocab_pad,
          .bias = model.bias,
          .tied_head = model.tie_head,
          .head_bias = model.head_bias,
          .final_norm = model.norm == Norm::kPre};
}

double FlopsPerToken(const ModelSpec& model, int64_t seq_len) {
  return plan::FlopsPerToken(SizeOf(model), seq_len);
}

std::optional<double> PeakFlops(std::string_view device_name, Compute resolved) {
  switch (resolved) {
    case Compute::kBf16:
    case Compute::kFp16:
      return plan::PeakFlops(device_name, plan::Arithmetic::kHalf);
    case Compute::kTf32:
      return plan::PeakFlops(device_name, plan::Arithmetic::kTf32);
    case Compute::kFp32:
      return plan::PeakFlops(device_name, plan::Arithmetic::kFp32);
    case Compute::kAuto:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace dt::trainer
