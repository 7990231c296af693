// recompute.cc: an autograd function that runs its part twice.
#include "worker/trainer/model/recompute.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <optional>
#include <utility>

#include "worker/trainer/precision/precision.h"

namespace dt::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// State for the second run, besides x.
struct Part : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor&)> run;
  std::vector<at::Tensor> parameters;
  Draws draws = Draws::kNothing;
  // State of the device's default generator before the first run.
  at::Tensor random_state;
  std::optional<at::ScalarType> autocast;  // autocast type of the first run; empty: off
};

at::Tensor RandomState(c10::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}
void SetRandomState(c10::Device device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

// Restores the random state of the first run for its lifetime; then that from before.
class RandomAgain {
 public:
  RandomAgain(const Part& part, c10::Device device) : device_(device) {
    if (part.draws == Draws::kNothing) return;
    before_ = RandomState(device_);
    SetRandomState(device_, part.random_state);
  }
  ~RandomAgain() {
    if (before_.defined()) SetRandomState(device_, before_);
  }
  RandomAgain(const RandomAgain&) = delete;
  RandomAgain& operator=(const RandomAgain&) = delete;

 private:
  const c10::Device device_;
  at::Tensor before_;
};

struct RunTwice : torch::autograd::Function<RunTwice> {
  static at::Tensor forward(AutogradContext* context, const c10::intrusive_ptr<Part>& part,
                            const at::Tensor& x, at::TensorList /*parameters*/) {
    const c10::DeviceType type = x.device().type();
    if (part->draws == Draws::kDropout) part->random_state = RandomState(x.device());
    if (at::autocast::is_autocast_enabled(type)) {
      part->autocast = at::autocast::get_autocast_dtype(type);
    }
    context->save_for_backward({x});
    context->saved_data["part"] = c10::IValue::make_capsule(part);
    return part->run(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto part =
        c10::static_intrusive_pointer_cast<Part>(context->saved_data["part"].toCapsule());
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_();
    at::Tensor y;
    {
      const at::AutoGradMode with_graph(true);
      const RandomAgain random(*part, x.device());
      const AutocastScope autocast(part->autocast, x.device().type());
      y = part->run(x);
    }
    variable_list inputs{x};
    inputs.insert(inputs.end(), part->parameters.begin(), part->parameters.end());
    variable_list of_inputs = torch::autograd::grad({y}, inputs, gradients);
    of_inputs.insert(of_inputs.begin(), at::Tensor());  // no gradient for the part itself
    return of_inputs;
  }
};

}  // namespace

at::Tensor Recomputed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                      std::function<at::Tensor(const at::Tensor&)> run, Draws draws) {
  auto part = c10::make_intrusive<Part>();
  part->run = std::move(run);
  part->parameters = parameters;
  part->draws = draws;
  return RunTwice::apply(part, x, at::TensorList(part->parameters));
}

}  // namespace dt::trainer
