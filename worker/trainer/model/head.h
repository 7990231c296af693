// head.h: the operands of the output projection, and the times at which its gradients are computed.
//
// Role: shared by head_loss.h, chunked_head_loss.h and head_function.h.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "worker/trainer/device/device.h"
#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// Weights and bias of the output projection. The first `columns` rows are real; later rows are
// padding and take no part in any softmax.
struct Head {
  at::Tensor weight;  // [rows, width]
  at::Tensor bias;    // [rows] or undefined
  int64_t columns = 0;
  // Used if several ranks each have an equal share of the rows, and all have all hidden states.
  // first: index of this rank's first row among all. gather: all-gathers a tensor in rank order,
  // [ranks, …]; all ranks call it in one order. Empty: all rows are here.
  int64_t first = 0;
  std::function<at::Tensor(const at::Tensor&)> gather;
};

// Times at which a forward pass computed gradients; they count as backward time of the step.
struct GradientSpans {
  Timeline& timeline;
  std::vector<std::pair<Timeline::Moment, Timeline::Moment>> spans;
};

// A span of time, from construction to End. End is not a destructor, since recording a time throws
// if the device has failed.
class GradientSpan {
 public:
  explicit GradientSpan(GradientSpans* spans)
      : spans_(spans), from_(spans == nullptr ? 0 : spans->timeline.Now()) {}
  void End() {
    if (spans_ != nullptr) spans_->spans.emplace_back(from_, spans_->timeline.Now());
  }

 private:
  GradientSpans* const spans_;
  const Timeline::Moment from_;
};

}  // namespace dt::trainer
