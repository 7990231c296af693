// head_function.h: the autograd Function for a head pass that computes the gradients together with
// the loss: forward keeps them, backward returns them.
//
// Errors: exceptions of the pass and of LibTorch pass through.
// Tests:  tests/worker/trainer/model/head_loss_test.cc,
//         tests/worker/trainer/model/chunked_head_loss_test.cc
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <utility>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/head.h"

namespace dt::trainer {

struct HeadGradients {
  at::Tensor hidden, weight, bias;  // undefined if there is no bias
  double divisor = 1;               // the tensors are the mean loss's gradients times this
};

template <typename Pass>
class HeadFunction : public torch::autograd::Function<HeadFunction<Pass>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& hidden,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const at::Tensor& targets, int64_t columns, const Pass& pass) {
    HeadGradients gradients;
    const at::Tensor loss =
        pass(hidden, Head{weight, bias.value_or(at::Tensor()), columns}, targets, &gradients);
    ctx->saved_data["hidden"] = gradients.hidden.view_as(hidden);
    ctx->saved_data["weight"] = gradients.weight;
    if (gradients.bias.defined()) ctx->saved_data["bias"] = gradients.bias;
    ctx->saved_data["divisor"] = gradients.divisor;
    return loss;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list outer) {
    // With accumulated micro-steps the loss is scaled down.
    const at::Tensor factor = outer.at(0) / ctx->saved_data.at("divisor").toDouble();
    // Checked on a CPU only: on a GPU this would wait.
    const bool whole = factor.is_cpu() && factor.item<float>() == 1;
    torch::autograd::variable_list gradients(6);
    size_t place = 0;
    for (const char* name : {"hidden", "weight", "bias"}) {
      const auto found = ctx->saved_data.find(name);
      at::Tensor& gradient = gradients[place++];
      if (found == ctx->saved_data.end()) continue;
      // Move it out, so that it becomes the parameter's gradient without a copy.
      gradient = std::move(found->second).toTensor();
      if (!whole) gradient.mul_(factor);
    }
    ctx->saved_data.clear();
    return gradients;
  }
};

// Returns the mean loss from `pass`(hidden, head, targets, gradients). The pass fills in the
// gradients, unless they are null, as under NoGradGuard.
template <typename Pass>
at::Tensor HeadLossBy(const Pass& pass, const at::Tensor& hidden, const Head& head,
                      const at::Tensor& targets) {
  if (!at::GradMode::is_enabled()) {
    return pass(hidden, head, targets, static_cast<HeadGradients*>(nullptr));
  }
  return HeadFunction<Pass>::apply(
      hidden, head.weight,
      head.bias.defined() ? std::optional<at::Tensor>(head.bias) : std::nullopt, targets,
      head.columns, pass);
}

}  // namespace dt::trainer
