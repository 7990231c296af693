// row_gatherer.cc: gathers in time.
#include "worker/trainer/parallel/row_gatherer.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace dt::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Block : torch::CustomClassHolder {
  RowGatherer* rows = nullptr;
  size_t unit = 0;
};

// Nothing forward; backward, where the block's own backward pass follows, its row is gathered.
struct BackIntoBlock : torch::autograd::Function<BackIntoBlock> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& y,
                            const c10::intrusive_ptr<Block>& block) {
    context->saved_data["block"] = c10::IValue::make_capsule(block);
    return y.view_as(y);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto block =
        c10::static_intrusive_pointer_cast<Block>(context->saved_data["block"].toCapsule());
    block->rows->BeforeBackward(block->unit);
    return {gradients[0], at::Tensor()};
  }
};

}  // namespace

RowGatherer::RowGatherer(ShardedHome& home, Route shard)
    : home_(home), shard_(std::move(shard)), units_(home.units().size()) {
  home_.SetKeeper(this);
}

RowGatherer::~RowGatherer() { home_.SetKeeper(nullptr); }

void RowGatherer::Start(size_t unit) {
  State& state = units_.at(unit);
  if (state.where != Where::kAway) return;
  at::NoGradGuard no_grad;
  home_.TakeRow(unit);
  state.gather = Transfers::AllGather(shard_, home_.units()[unit].row, home_.units()[unit].shard);
  state.where = Where::kComing;
}

void RowGatherer::Await(size_t unit, CommTimes::During during) {
  Start(unit);
  State& state = units_[unit];
  state.gather.Wait(during);
  state.where = Where::kHere;
}

void RowGatherer::Drop(size_t unit) {
  State& state = units_.at(unit);
  if (state.where == Where::kAway) return;
  state.gather.Wait(CommTimes::During::kForward);  // it writes into the row
  state = {};
  home_.DropRow(unit);
}

void RowGatherer::BeginPass() { Await(0, CommTimes::During::kForward); }

void RowGatherer::EndPass() {
  if (!at::GradMode::is_enabled()) Drop(0);
}

at::Tensor RowGatherer::Around(size_t unit, const at::Tensor& x,
                               const ParameterHome::Through& through) {
  Await(unit, CommTimes::During::kForward);
  if (unit + 1 < units_.size()) Start(unit + 1);
  const at::Tensor y = through(x);
  if (!at::GradMode::is_enabled()) {
    Drop(unit);
    return y;
  }
  if (unit + 1 < units_.size()) Drop(unit);
  auto block = c10::make_intrusive<Block>();
  block->rows = this;
  block->unit = unit;
  return BackIntoBlock::apply(y, block);
}

void RowGatherer::BeforeBackward(size_t unit) {
  Await(unit, CommTimes::During::kBackward);
  if (unit > 1) Start(unit - 1);
}

}  // namespace dt::trainer
