// sharded.cc: reduce-scatter of gradients unit by unit, all-gather of what was updated.
#include "worker/trainer/parallel/sharded.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "worker/trainer/parallel/gradient_norm.h"

namespace dt::trainer {

// Fires when a parameter's gradient of one backward pass is complete, of a tied one once.
class ShardedStrategy::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(std::shared_ptr<ShardedStrategy*> strategy, size_t unit)
      : strategy_(std::move(strategy)), unit_(unit) {}
  void operator()(const torch::autograd::Variable& /*parameter*/) override {
    if (*strategy_ != nullptr) (*strategy_)->OnGradient(unit_);
  }

 private:
  const std::shared_ptr<ShardedStrategy*> strategy_;
  const size_t unit_;
};

ShardedStrategy::ShardedStrategy(ShardedHome& home, Sends sends, at::ScalarType wire,
                                 const Mesh& mesh, std::shared_ptr<Timeline> timeline)
    : home_(home),
      sends_(sends),
      wire_(wire),
      data_ranks_(mesh.size(Axis::kData)),
      times_(std::make_shared<CommTimes>(timeline)),
      shard_{Axis::kShard, mesh.group(Axis::kShard), timeline, times_},
      replicate_{Axis::kReplicate, mesh.group(Axis::kReplicate), timeline, times_},
      local_(home.device()),
      progress_(home.units().size()),
      alive_(std::make_shared<ShardedStrategy*>(this)) {
  for (size_t unit = 0; unit < home_.units().size(); ++unit) {
    for (const ShardedHome::Member& member : home_.units()[unit].members) {
      torch::autograd::impl::set_post_acc_grad_hooks(member.parameter,
                                                     std::make_unique<Hook>(alive_, unit));
    }
  }
  if (home_.rows() == ShardedHome::Rows::kComeAndGo) {
    rows_ = std::make_unique<RowGatherer>(home_, shard_);
  }
  // Each rank's shards win, those of the first copy, so that all begin with the same bits.
  if (replicate_.group != nullptr) replicate_.group->BroadcastFromRoot(copies()[0].tensors);
  Gather();
}

ShardedStrategy::~ShardedStrategy() { *alive_ = nullptr; }

void ShardedStrategy::BeginStep(const StepNotes& notes) {
  measured_ = notes.measured && data_ranks_ > 1;
  local_.Restart(measured_);
  times_->Restart();
  first_ = true;
  for (Progress& progress : progress_) progress.summed = false;
}

void ShardedStrategy::BeforeBackward(const Action& pass) {
  completes_ = pass.completes;
  if (rows_ != nullptr && home_.stage().LeavesBlocks(pass.chunk)) rows_->BeginBackward();
  for (Progress& progress : progress_) progress.arrived = 0;
}

void ShardedStrategy::OnGradient(size_t unit) {
  if (sends_ == Sends::kOnceAStep && !completes_) return;
  if (++progress_[unit].arrived == home_.units()[unit].members.size()) StartSum(unit);
}

void ShardedStrategy::StartSum(size_t unit) {
  at::NoGradGuard no_grad;
  FinishSum();
  const ShardedHome::Unit& of = home_.units()[unit];
  const at::Tensor ranks = at::scalar_tensor(data_ranks_, at::kFloat);
  UnderWay next{unit, completes_, RowLike(of.row), {}, {}};
  for (const ShardedHome::Member& member : of.members) {
    at::Tensor& gradient = member.parameter.mutable_grad();
    if (first_ || sends_ == Sends::kOnceAStep) local_.Add(gradient);
    at::Tensor place = next.sent.narrow(0, member.in_row.from, member.in_row.count);
    if (DividesSum()) {
      place.copy_(gradient.reshape({-1}));
    } else {
      at::div_out(place, gradient.reshape({-1}), ranks);
    }
    gradient.reset();
  }
  if (rows_ != nullptr) rows_->Drop(unit);
  next.received = Transfers::ReceivedBy(shard_, next.sent) == next.sent.numel()
                      ? RowLike(of.row)
                      : at::empty(of.shard.sizes(), of.shard.options().dtype(wire_));
  next.transfer = Transfers::ReduceScatter(shard_, next.sent, next.received);
  under_way_ = std::move(next);
}

at::Tensor ShardedStrategy::RowLike(const at::Tensor& row) {
  const auto spare = std::find_if(spare_.begin(), spare_.end(), [&row](const at::Tensor& each) {
    return each.numel() == row.numel();
  });
  if (spare == spare_.end()) {
    return at::empty({row.numel()}, at::TensorOptions(home_.device()).dtype(wire_));
  }
  at::Tensor taken = *spare;
  spare_.erase(spare);
  return taken;
}

void ShardedStrategy::FinishSum() {
  if (!under_way_.has_value()) return;
  at::NoGradGuard no_grad;
  UnderWay done = *std::exchange(under_way_, std::nullopt);
  done.transfer.Wait(CommTimes::During::kBackward);
  for (const at::Tensor& row : {done.sent, done.received}) spare_.push_back(row);
  const at::Tensor& gradient = home_.units()[done.unit].gradient;
  at::Tensor sum = Transfers::Sum(shard_, done.received, gradient.numel());
  if (DividesSum()) sum.div_(data_ranks_);
  if (std::exchange(progress_[done.unit].summed, true)) {
    gradient.add_(sum);
  } else {
    gradient.copy_(sum);
  }
  if (done.last && replicate_.group != nullptr) StartBetweenCopies(gradient);
}

void ShardedStrategy::StartBetweenCopies(const at::Tensor& gradient) {
  if (wire_ == at::kFloat) {
    between_copies_.push_back(Transfers::AllReduce(replicate_, gradient));
    return;
  }
  const auto bytes = static_cast<size_t>(gradient.numel()) * c10::elementSize(wire_);
  const size_t place = times_->Post(CollectiveOp::kAllReduce, replicate_.axis, bytes);
  narrow_between_copies_.push_back({NarrowSum(*replicate_.group, gradient, wire_), place});
}

void ShardedStrategy::FinishBetweenCopies() {
  for (Transfer& transfer : between_copies_) transfer.Wait(CommTimes::During::kBackward);
  between_copies_.clear();
  if (narrow_between_copies_.empty()) return;
  const Timeline::Moment from = replicate_.timeline->Now();
  for (BetweenCopies& each : narrow_between_copies_) each.sum.Spread(1);
  for (BetweenCopies& each : narrow_between_copies_) {
    each.sum.Finish();
    times_->OnComplete(each.place);
  }
  times_->OnWaited(narrow_between_copies_.back().place, from, replicate_.timeline->Now(),
                   CommTimes::During::kBackward);
  narrow_between_copies_.clear();
}

void ShardedStrategy::AfterBackward(const Action& pass) {
  first_ = false;
  if (!pass.last) return;
  FinishSum();
  FinishBetweenCopies();
  spare_.clear();
  home_.DropSpareRows();
}

std::vector<Strategy::Copies> ShardedStrategy::copies() const {
  Copies copies;
  const bool whole = home_.rows() == ShardedHome::Rows::kStay;
  if (!whole) copies.set = shard_.group->rank();
  for (const ShardedHome::Unit& unit : home_.units()) {
    if (!unit.members.empty()) copies.tensors.push_back(whole ? unit.row : unit.shard);
  }
  return {copies};
}

at::Tensor ShardedStrategy::FinishGradients() {
  return NormOver(pieces(), [](const Piece&) { return true; }, {shard_.group});
}

void ShardedStrategy::Gather() {
  DT_CHECK(rows_ == nullptr || rows_->AllAreAway());
  if (rows_ != nullptr) return;
  at::NoGradGuard no_grad;
  std::vector<Transfer> gathers;
  for (const ShardedHome::Unit& unit : home_.units()) {
    if (unit.members.empty()) continue;  // another stage's
    gathers.push_back(Transfers::AllGather(shard_, unit.row, unit.shard));
  }
  for (Transfer& gather : gathers) gather.Wait(CommTimes::During::kUpdate);
}

at::Tensor ShardedStrategy::ShareSquaredNorm() const {
  return measured_ ? local_.squared_norm() : at::Tensor();
}

}  // namespace dt::trainer
