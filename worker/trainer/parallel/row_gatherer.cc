// row_gatherer.cc: gathers rows before they are needed.
#include "worker/trainer/parallel/row_gatherer.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace dt::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Block : torch::CustomClassHolder {
  RowGatherer* rows = nullptr;
  size_t unit = 0;
};

// Does nothing in the forward pass. In the backward pass, gathers the row of the block whose
// backward pass comes next.
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

RowGatherer::RowGatherer(ShardedHome& home, Route shard, SharedRows* shared,
                         at::ScalarType products)
    : home_(home),
      shard_(std::move(shard)),
      shared_(shared),
      of_blocks_(home.norms() == ShardedHome::Norms::kOutside ? products : at::kFloat),
      units_(home.units().size()) {
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    const std::vector<ShardedHome::Member>& members = home_.units()[unit].members;
    if (members.empty()) continue;
    const bool is_block = UnitOf(home_.pieces()[members[0].piece].name) == unit && unit > 0;
    (is_block ? blocks_ : outside_).push_back(unit);
  }
  home_.SetKeeper(this);
}

RowGatherer::~RowGatherer() { home_.SetKeeper(nullptr); }

void RowGatherer::Start(size_t unit) {
  State& state = units_.at(unit);
  if (shared_ != nullptr || state.where != Where::kAway) return;
  at::NoGradGuard no_grad;
  const ShardedHome::Unit& of = home_.units()[unit];
  const bool is_block = std::binary_search(blocks_.begin(), blocks_.end(), unit);
  state.where = Where::kComing;
  if (!is_block || of_blocks_ == at::kFloat) {
    home_.TakeRow(unit);
    state.gather = Transfers::AllGather(shard_, of.row, of.shard);
    return;
  }
  state.narrow = at::empty({of.row.numel()}, of.row.options().dtype(of_blocks_));
  state.gather = Transfers::AllGather(shard_, state.narrow, of.shard.to(of_blocks_));
}

void RowGatherer::Await(size_t unit, CommTimes::During during) {
  Start(unit);
  State& state = units_.at(unit);
  if (shared_ != nullptr && state.where == Where::kAway) {
    home_.TakeRow(unit);
    shared_->Gather(unit, during);
  }
  state.gather.Wait(during);
  state.where = Where::kHere;
  if (!state.narrow.defined()) return;
  at::NoGradGuard no_grad;
  home_.TakeRow(unit);
  home_.units()[unit].row.copy_(state.narrow);
  state.narrow.reset();
}

void RowGatherer::Drop(size_t unit) {
  State& state = units_.at(unit);
  if (state.where == Where::kAway) return;
  state.gather.Wait(CommTimes::During::kForward);  // the gather writes into the row
  const bool taken = !state.narrow.defined();
  state = {};
  if (taken) home_.DropRow(unit);
}

void RowGatherer::BeginPass(bool leaves_blocks) {
  if (!leaves_blocks) return;
  for (const size_t unit : outside_) Await(unit, CommTimes::During::kForward);
}

void RowGatherer::EndPass() {
  if (at::GradMode::is_enabled()) return;
  for (const size_t unit : outside_) Drop(unit);
}

size_t RowGatherer::After(size_t unit) const {
  const auto next = std::upper_bound(blocks_.begin(), blocks_.end(), unit);
  return next == blocks_.end() ? 0 : *next;
}

size_t RowGatherer::Before(size_t unit) const {
  const auto here = std::lower_bound(blocks_.begin(), blocks_.end(), unit);
  return here == blocks_.begin() ? 0 : *std::prev(here);
}

at::Tensor RowGatherer::Around(size_t unit, const at::Tensor& x,
                               const ParameterHome::Through& through) {
  Await(unit, CommTimes::During::kForward);
  const size_t next = After(unit);
  if (next > 0) Start(next);
  const at::Tensor y = through(x);
  if (!at::GradMode::is_enabled()) {
    Drop(unit);
    return y;
  }
  if (next > 0) Drop(unit);
  auto block = c10::make_intrusive<Block>();
  block->rows = this;
  block->unit = unit;
  return BackIntoBlock::apply(y, block);
}

void RowGatherer::BeginBackward() {
  for (const size_t unit : outside_) Await(unit, CommTimes::During::kBackward);
}

bool RowGatherer::AllAreAway() const {
  return std::all_of(units_.begin(), units_.end(),
                     [](const State& state) { return state.where == Where::kAway; });
}

void RowGatherer::BeforeBackward(size_t unit) {
  Await(unit, CommTimes::During::kBackward);
  if (const size_t before = Before(unit); before > 0) Start(before);
}

}  // namespace dt::trainer
