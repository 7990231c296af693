// chunked_head_loss.cc: pads the operands and loops over chunks.
#include "worker/trainer/model/chunked_head_loss.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "worker/trainer/model/head_function.h"
#include "worker/trainer/model/row_kernel.h"

namespace dt::trainer {
namespace {

std::map<c10::DeviceType, RowKernel>& Kernels() {
  static std::map<c10::DeviceType, RowKernel> kernels;
  return kernels;
}

// Multiples that keep tensor cores on their fast kernels: rows of 16 bytes, tiles of 64.
constexpr int64_t kWidthMultiple = 8;
constexpr int64_t kColumnMultiple = 64;
constexpr int64_t kRowMultiple = 64;
int64_t RoundedUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Returns the factor for the gradient of the logits before it is rounded to `type`: a rare token's
// probability is below the range of fp16.
double UnitOf(at::ScalarType type) { return type == at::kHalf ? 16384 : 1; }

// Computes out = a · b in fp32, whatever the types of a and b.
void MultiplyInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() == at::kFloat) {
    at::mm_out(out, a, b);
  } else if (a.is_cuda()) {
    at::mm_out(out, a, b, at::kFloat);
  } else {
    at::mm_out(out, a.to(at::kFloat), b.to(at::kFloat));
  }
}

// Hidden states and weights, padded for the products. A bias becomes the first padding column of
// the weights.
class Operands {
 public:
  Operands(const at::Tensor& hidden, const Head& head, at::ScalarType type)
      : head_(head), width_(head.weight.size(1)) {
    // A rank may have padding rows only.
    const int64_t columns = RoundedUp(std::max<int64_t>(head.columns, 1), kColumnMultiple);
    const bool bias = head.bias.defined();
    const int64_t width = RoundedUp(width_ + (bias ? 1 : 0), kWidthMultiple);
    const at::Tensor rows = hidden.reshape({-1, width_});
    if (width == width_ && columns <= head.weight.size(0)) {
      hidden_ = rows.to(type).contiguous();
      weight_ = head.weight.narrow(0, 0, columns).to(type).contiguous();
      return;
    }
    const at::TensorOptions options = head.weight.options().dtype(type);
    hidden_ = at::zeros({rows.size(0), width}, options);
    hidden_.narrow(1, 0, width_).copy_(rows);
    weight_ = at::zeros({columns, width}, options);
    at::Tensor real = weight_.narrow(0, 0, head.columns);
    real.narrow(1, 0, width_).copy_(head.weight.narrow(0, 0, head.columns));
    if (!bias) return;
    hidden_.select(1, width_).fill_(1);
    real.select(1, width_).copy_(head.bias.narrow(0, 0, head.columns));
  }

  const at::Tensor& hidden() const { return hidden_; }
  const at::Tensor& weight() const { return weight_; }
  const Head& head() const { return head_; }

  void LogitsInto(at::Tensor& logits, const at::Tensor& hidden) const {
    MultiplyInto(logits, hidden, weight_.t());
    const int64_t behind = logits.size(1) - head_.columns;
    if (behind == 0) return;
    logits.narrow(1, head_.columns, behind).fill_(-std::numeric_limits<double>::infinity());
  }

  // Returns the operands' gradients without the padding that this class added.
  HeadGradients Unpadded(const at::Tensor& hidden, const at::Tensor& weight) const {
    const at::Tensor real = weight.narrow(0, 0, head_.columns);
    const int64_t behind = head_.weight.size(0) - head_.columns;
    HeadGradients gradients;
    gradients.hidden = hidden.narrow(1, 0, width_).contiguous();
    if (weight.sizes() == head_.weight.sizes()) {
      gradients.weight = weight;  // padding rows of the head have zeros already
    } else {
      gradients.weight = at::constant_pad_nd(real.narrow(1, 0, width_), {0, 0, 0, behind});
    }
    if (head_.bias.defined()) {
      gradients.bias = at::constant_pad_nd(real.select(1, width_), {0, behind});
    }
    return gradients;
  }

 private:
  const Head head_;
  const int64_t width_;
  at::Tensor hidden_, weight_;  // [rows, width'], [columns', width'] of `type`
};

// Computes the gradient of a chunk's summed losses with respect to its logits, times UnitOf its
// type. Returns the sum of losses. Overwrites the logits; `logs` has their size.
at::Tensor GradientInto(at::Tensor& gradient, at::Tensor& logits, at::Tensor& logs,
                        const at::Tensor& targets) {
  const at::Tensor right = targets.unsqueeze(1);
  at::_log_softmax_out(logs, logits, 1, /*half_to_float=*/false);
  const at::Tensor log_of_right = logs.gather(1, right);
  // Softmax minus one-hot. At the target expm1 rounds once, since the difference may be small.
  const double unit = UnitOf(gradient.scalar_type());
  if (unit == 1) {
    at::exp_out(gradient, logs);
  } else {
    at::mul_out(gradient, at::exp_out(logits, logs), at::scalar_tensor(unit, logits.options()));
  }
  gradient.scatter_(1, right, log_of_right.expm1().mul_(unit).to(gradient.scalar_type()));
  return -log_of_right.sum(at::kDouble);
}

// Does the same in one pass, with the device's own kernel.
at::Tensor GradientByKernel(const at::Tensor& gradient, const at::Tensor& logits,
                            const at::Tensor& targets) {
  const LossRows rows{logits, targets, gradient, at::empty({logits.size(0)}, logits.options())};
  RowKernelOf(logits.device().type())(rows);
  return rows.losses.sum(at::kDouble);
}

// Does the same where each rank has some of the columns. The ranks exchange the largest logit, the
// sum of exponentials and the target's logit of their own columns. Needs no second buffer;
// overwrites the logits. `gradient` null: computes the loss only.
at::Tensor GradientOfOwn(at::Tensor* gradient, at::Tensor& logits, const at::Tensor& targets,
                         const Head& head) {
  const at::Tensor own = (targets - head.first).unsqueeze(1);
  const at::Tensor elsewhere = own.lt(0).logical_or_(own.ge(head.columns));
  const at::Tensor place = own.masked_fill(elsewhere, 0);
  // A target outside all ranks' columns gives an infinite loss.
  const at::Tensor of_target =
      logits.gather(1, place).masked_fill_(elsewhere, -std::numeric_limits<double>::infinity());
  // If no column is real, all are -infinity, and subtracting -infinity would give NaN.
  const at::Tensor largest =
      logits.amax(1, /*keepdim=*/true).clamp_min_(std::numeric_limits<float>::lowest());
  logits.sub_(largest).exp_();
  const at::Tensor known =
      head.gather(at::stack({largest, logits.sum(1, /*keepdim=*/true), of_target}));
  const at::Tensor all_largest = known.select(1, 0).amax(0);
  const at::Tensor sum = (known.select(1, 1) * (known.select(1, 0) - all_largest).exp()).sum(0);
  const at::Tensor log_of_right = known.select(1, 2).amax(0) - all_largest - sum.log();
  if (gradient != nullptr) {
    const double unit = UnitOf(gradient->scalar_type());
    at::mul_out(*gradient, logits, (largest - all_largest).exp().div_(sum).mul_(unit));
    const at::Tensor right = log_of_right.expm1().mul_(unit).to(gradient->scalar_type());
    gradient->scatter_(1, place, at::where(elsewhere, gradient->gather(1, place), right));
  }
  return -log_of_right.sum(at::kDouble);
}

// Returns the sum of the rows' losses in fp64, and computes the gradients if they are wanted.
at::Tensor SumOfLosses(const Operands& operands, const at::Tensor& targets, int64_t chunk_logits,
                       GradientSpans* spans, at::Tensor* hidden_out, at::Tensor* weight_out) {
  const int64_t rows = operands.hidden().size(0);
  const int64_t columns = operands.weight().size(0);
  const int64_t most = std::max(chunk_logits / columns, kRowMultiple);
  const int64_t chunks = std::max<int64_t>((rows + most - 1) / most, 1);
  const int64_t chunk = RoundedUp((rows + chunks - 1) / chunks, kRowMultiple);
  const at::TensorOptions fp32 = operands.hidden().options().dtype(at::kFloat);
  const int64_t held = std::min(chunk, rows);
  const bool cut = static_cast<bool>(operands.head().gather);
  const bool by_kernel = hidden_out != nullptr && !cut &&
                         RowKernelOf(operands.hidden().device().type()) &&
                         operands.hidden().scalar_type() == at::kBFloat16;
  at::Tensor logits_memory = at::empty({held, columns}, fp32);
  at::Tensor logs_memory = by_kernel || cut ? at::Tensor() : at::empty({held, columns}, fp32);
  at::Tensor gradient_memory, part;
  if (hidden_out != nullptr) {
    gradient_memory = at::empty({held, columns}, operands.hidden().options());
    *hidden_out = at::empty(operands.hidden().sizes(), fp32);
    *weight_out = at::empty(operands.weight().sizes(), fp32);
    if (rows > chunk) part = at::empty_like(*weight_out);
  }
  at::Tensor sum = at::zeros({}, fp32.dtype(at::kDouble));
  for (int64_t first = 0; first < rows; first += chunk) {
    const int64_t count = std::min(chunk, rows - first);
    const at::Tensor hidden = operands.hidden().narrow(0, first, count);
    const at::Tensor right = targets.narrow(0, first, count);
    at::Tensor logits = logits_memory.narrow(0, 0, count);
    operands.LogitsInto(logits, hidden);
    if (hidden_out == nullptr && cut) {
      sum += GradientOfOwn(nullptr, logits, right, operands.head());
      continue;
    }
    if (hidden_out == nullptr) {
      at::Tensor logs = logs_memory.narrow(0, 0, count);
      at::_log_softmax_out(logs, logits, 1, /*half_to_float=*/false);
      sum -= logs.gather(1, right.unsqueeze(1)).sum(at::kDouble);
      continue;
    }
    GradientSpan span(spans);
    at::Tensor gradient = gradient_memory.narrow(0, 0, count);
    if (cut) {
      sum += GradientOfOwn(&gradient, logits, right, operands.head());
    } else if (by_kernel) {
      sum += GradientByKernel(gradient, logits, right);
    } else {
      at::Tensor logs = logs_memory.narrow(0, 0, count);
      sum += GradientInto(gradient, logits, logs, right);
    }
    at::Tensor hidden_gradient = hidden_out->narrow(0, first, count);
    MultiplyInto(hidden_gradient, gradient, operands.weight());
    MultiplyInto(first == 0 ? *weight_out : part, gradient.t(), hidden);
    if (first > 0) weight_out->add_(part);
    span.End();
  }
  return sum;
}

at::Tensor MeanLoss(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                    at::ScalarType type, int64_t chunk_logits, GradientSpans* spans,
                    HeadGradients* gradients) {
  const Operands operands(hidden, head, type);
  const at::Tensor flat = targets.reshape({-1});
  TORCH_CHECK(flat.numel() == operands.hidden().size(0), "one target a row");
  at::Tensor hidden_gradient, weight_gradient;
  const bool wanted = gradients != nullptr;
  const at::Tensor sum =
      SumOfLosses(operands, flat, chunk_logits, spans, wanted ? &hidden_gradient : nullptr,
                  wanted ? &weight_gradient : nullptr);
  if (wanted) {
    *gradients = operands.Unpadded(hidden_gradient, weight_gradient);
    gradients->divisor = static_cast<double>(flat.numel()) * UnitOf(type);
  }
  return (sum / flat.numel()).to(at::kFloat);
}

}  // namespace

void SetRowKernel(c10::DeviceType device, RowKernel kernel) {
  Kernels()[device] = std::move(kernel);
}
const RowKernel& RowKernelOf(c10::DeviceType device) { return Kernels()[device]; }

at::Tensor ChunkedHeadLoss(const at::Tensor& hidden, const Head& head, const at::Tensor& targets,
                           at::ScalarType type, GradientSpans* spans, int64_t chunk_logits) {
  // Autocast is off: the types are chosen here.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const auto pass = [=, first = head.first, gather = head.gather](
                        const at::Tensor& rows, const Head& real, const at::Tensor& right,
                        HeadGradients* gradients) {
    const Head own{real.weight, real.bias, real.columns, first, gather};
    return MeanLoss(rows, own, right, type, chunk_logits, spans, gradients);
  };
  return HeadLossBy(pass, hidden, head, targets);
}

}  // namespace dt::trainer
