// head_loss.cc: the chunked pass on a CPU.
#include "worker/trainer/model/head_loss.h"

#include <algorithm>
#include <vector>

#include "plan/cost.h"
#include "worker/trainer/model/chunked_head_loss.h"
#include "worker/trainer/model/head_function.h"
#include "worker/trainer/model/softmax_row.h"

namespace dt::trainer {
namespace {

// Rows of logits start on a cache line, with room for a full vector after the last column.
constexpr int64_t kStrideMultiple = 64;

class HeadPass {
 public:
  // `gradients`: filled with tensors made here. Null: computes the loss only.
  HeadPass(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
           HeadGradients* gradients, GradientSpans* spans)
      : hidden_(hidden.reshape({-1, hidden.size(-1)}).contiguous()),
        weight_(head.weight.narrow(0, 0, head.columns)),
        bias_(head.bias.defined() ? head.bias.narrow(0, 0, head.columns).contiguous() : head.bias),
        targets_(targets.reshape({-1}).contiguous()),
        columns_(head.columns),
        rows_behind_(head.weight.size(0) - head.columns),
        gradients_(gradients),
        spans_(spans) {
    TORCH_CHECK(targets_.numel() == hidden_.size(0), "one target a row");
    const int64_t stride = (columns_ + kStrideMultiple - 1) / kStrideMultiple * kStrideMultiple;
    buffer_ = at::empty({std::min(plan::CpuHeadRows(stride), hidden_.size(0)), stride},
                        hidden_.options());
    if (gradients_ == nullptr) return;
    gradients_->hidden = at::empty_like(hidden_);
    gradients_->weight = at::empty({columns_ + rows_behind_, weight_.size(1)}, weight_.options());
    gradients_->weight.narrow(0, columns_, rows_behind_).zero_();
    weight_gradient_ = gradients_->weight.narrow(0, 0, columns_);
    if (bias_.defined()) {
      bias_parts_ = at::zeros({at::get_num_threads(), columns_}, hidden_.options());
    }
  }

  double MeanLoss() {
    const int64_t rows = hidden_.size(0);
    losses_.assign(static_cast<size_t>(rows), 0);
    const int64_t chunk = std::max<int64_t>(buffer_.size(0), 1);
    for (int64_t first = 0; first < rows; first += chunk) {
      Chunk(first, std::min(chunk, rows - first));
    }
    if (gradients_ != nullptr && bias_.defined()) {
      gradients_->bias = at::constant_pad_nd(bias_parts_.sum(0), {0, rows_behind_});
    }
    double sum = 0;
    for (const double loss : losses_) sum += loss;
    return sum / static_cast<double>(rows);
  }

 private:
  void Chunk(int64_t first, int64_t count) {
    const at::Tensor hidden = hidden_.narrow(0, first, count);
    at::Tensor logits = buffer_.narrow(0, 0, count).narrow(1, 0, columns_);
    at::mm_out(logits, hidden, weight_.t());
    at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Row(first, row);
    });
    if (gradients_ == nullptr) return;
    GradientSpan span(spans_);
    at::Tensor hidden_gradient = gradients_->hidden.narrow(0, first, count);
    at::mm_out(hidden_gradient, logits, weight_);
    if (first == 0) {
      at::mm_out(weight_gradient_, logits.t(), hidden);
    } else {
      weight_gradient_.addmm_(logits.t(), hidden);
    }
    span.End();
  }

  void Row(int64_t first, int64_t row) {
    const int64_t rows = hidden_.size(0);
    SoftmaxRow work;
    work.logits = buffer_.mutable_data_ptr<float>() + row * buffer_.size(1);
    work.bias = bias_.defined() ? bias_.const_data_ptr<float>() : nullptr;
    work.columns = columns_;
    work.target = targets_.const_data_ptr<int64_t>()[first + row];
    TORCH_CHECK(work.target >= 0 && work.target < columns_, "target ", work.target,
                " is not below ", columns_);
    double& loss = losses_[static_cast<size_t>(first + row)];
    if (gradients_ == nullptr) {
      loss = RowLoss(work);
      return;
    }
    // Each thread has its own sum, so that sums are in the order of rows.
    float* bias_gradient =
        bias_.defined() ? bias_parts_.mutable_data_ptr<float>() + at::get_thread_num() * columns_
                        : nullptr;
    loss = RowLossAndGradient(work, 1.0f / static_cast<float>(rows), bias_gradient);
  }

  const at::Tensor hidden_, weight_, bias_, targets_;
  const int64_t columns_, rows_behind_;
  HeadGradients* const gradients_;
  GradientSpans* const spans_;
  at::Tensor weight_gradient_;  // real rows only
  at::Tensor buffer_, bias_parts_;
  std::vector<double> losses_;
};

}  // namespace

bool HeadLossIsFusable(const at::Tensor& hidden) {
  if (hidden.is_cuda()) return true;
  return hidden.is_cpu() && hidden.scalar_type() == at::kFloat &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

at::Tensor FusedHeadLoss(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                         GradientSpans* spans) {
  TORCH_CHECK(head.columns <= head.weight.size(0), "a head has no more columns than rows");
  const c10::DeviceType device = hidden.device().type();
  if (hidden.is_cuda() || head.gather) {
    const bool mixed = at::autocast::is_autocast_enabled(device);
    return ChunkedHeadLoss(hidden, head, targets,
                           mixed ? at::autocast::get_autocast_dtype(device) : at::kFloat, spans);
  }
  const auto pass = [spans](const at::Tensor& rows, const Head& real, const at::Tensor& right,
                            HeadGradients* gradients) {
    return at::scalar_tensor(HeadPass(rows, real, right, gradients, spans).MeanLoss(),
                             rows.options());
  };
  return HeadLossBy(pass, hidden, head, targets);
}

}  // namespace dt::trainer
