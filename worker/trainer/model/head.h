// head.h: the operands of the output projection, and the times at which its gradients are made.
//
// Role: shared by head_loss.h, chunked_head_loss.h and head_function.h.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "worker/trainer/device/device.h"
#include "worker/trainer/device/torch_prefix.h"

namespace dt::trainer {

// What the head multiplies by and adds. Its first `columns` rows are real; those behind only fill
// up and have no part in any softmax.
struct Head {
  at::Tensor weight;  // [rows, width]
  at::Tensor bias;    // [rows] or undefined
  int64_t columns = 0;
  // Where several ranks have some of the rows each, as many, and all ranks have all hidden states:
  // the first of these rows among all. Every one's in order of rank, [ranks, …], which all ranks
  // ask for in one order; empty: all rows are here.
  int64_t first = 0;
  std::function<at::Tensor(const at::Tensor&)> gather;
};

// When a forward pass made gradients: of a step's phases, that is the backward one.
struct GradientSpans {
  Timeline& timeline;
  std::vector<std::pair<Timeline::Moment, Timeline::Moment>> spans;
};

// One span, from here to its End. Recording a moment throws where a device has failed, which a
// destructor must not.
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
