// sharded.cc: reduce-scatter of gradients per unit, all-gather of updated shards.
#include "worker/trainer/parallel/sharded.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "worker/trainer/parallel/gradient_norm.h"

namespace dt::trainer {

// Runs when a parameter's gradient of one backward pass is complete; once for a tied parameter.
class ShardedStrategy::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(std::shared_ptr<ShardedStrategy*> strategy, size_t unit)
      : strategy_(std::move(strategy)), unit_(unit) {}
  void operator()(const torch::autograd::Variable& /*parameter*/) override {
    if (*strategy_ != nullptr) (*strategy_)->CountGradient(unit_);
  }

 private:
  const std::shared_ptr<ShardedStrategy*> strategy_;
  const size_t unit_;
};

ShardedStrategy::ShardedStrategy(ShardedHome& home, const Options& options, const Mesh& mesh,
                                 std::shared_ptr<Timeline> timeline,
                                 std::shared_ptr<LocalGradient> local)
    : home_(home),
      sends_(options.sends),
      wire_(options.wire),
      data_ranks_(mesh.size(Axis::kData)),
      times_(std::make_shared<CommTimes>(timeline)),
      shard_{Axis::kShard, mesh.group(Axis::kShard), timeline, times_},
      replicate_{Axis::kReplicate, mesh.group(Axis::kReplicate), timeline, times_},
      local_(std::move(local)),
      progress_(home.units().size()),
      alive_(std::make_shared<ShardedStrategy*>(this)) {
  for (size_t unit = 0; unit < home_.units().size(); ++unit) {
    for (const ShardedHome::Member& member : home_.units()[unit].members) {
      torch::autograd::impl::set_post_acc_grad_hooks(member.parameter,
                                                     std::make_unique<Hook>(alive_, unit));
    }
  }
  if (wire_ == at::kFloat) shared_ = SharedRows::Make(home_, shard_);
  if (home_.rows() == ShardedHome::Rows::kComeAndGo) {
    rows_ = std::make_unique<RowGatherer>(home_, shard_, shared_.get(), options.products);
  }
  // Broadcast the first replica's shards, so that all replicas start with the same bits.
  if (replicate_.group != nullptr) replicate_.group->BroadcastFromRoot(copies()[0].tensors);
  Gather();
}

ShardedStrategy::~ShardedStrategy() { *alive_ = nullptr; }

void ShardedStrategy::BeginStep(const StepNotes& notes) {
  measured_ = notes.measured && data_ranks_ > 1;
  local_->Restart(measured_);
  times_->Restart();
  for (Progress& progress : progress_) progress.summed = false;
}

void ShardedStrategy::BeforeBackward(const Action& pass) {
  completes_ = pass.completes;
  first_ = pass.micro_step == 0;
  if (rows_ != nullptr && home_.stage().LeavesBlocks(pass.chunk)) rows_->BeginBackward();
  for (Progress& progress : progress_) progress.arrived = 0;
}

void ShardedStrategy::CountGradient(size_t unit) {
  if (sends_ == Sends::kOnceAStep && !completes_) return;
  if (++progress_[unit].arrived == home_.units()[unit].members.size()) StartSum(unit);
}

void ShardedStrategy::StartSum(size_t unit) {
  at::NoGradGuard no_grad;
  FinishSum();
  const ShardedHome::Unit& of = home_.units()[unit];
  const at::Tensor ranks = at::scalar_tensor(data_ranks_, at::kFloat);
  UnderWay next;
  next.unit = unit;
  next.last = completes_;
  next.sent = shared_ == nullptr ? RowLike(of.row) : shared_->Place(of.row.numel());
  for (const ShardedHome::Member& member : of.members) {
    at::Tensor& gradient = member.parameter.mutable_grad();
    if (first_ || sends_ == Sends::kOnceAStep) local_->Add({{member.piece, gradient}});
    at::Tensor place = next.sent.narrow(0, member.in_row.from, member.in_row.count);
    if (DividesSum()) {
      place.copy_(gradient.reshape({-1}));
    } else {
      at::div_out(place, gradient.reshape({-1}), ranks);
    }
    gradient.reset();
  }
  if (rows_ != nullptr) rows_->Drop(unit);
  if (shared_ != nullptr) {
    next.number = shared_->Post();
    under_way_ = std::move(next);
    return;
  }
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
  const at::Tensor& gradient = home_.units()[done.unit].gradient;
  const at::Tensor sum = Summed(done);
  if (std::exchange(progress_[done.unit].summed, true)) {
    gradient.add_(sum);
  } else {
    gradient.copy_(sum);
  }
  if (done.last && replicate_.group != nullptr) StartBetweenCopies(gradient);
}

at::Tensor ShardedStrategy::Summed(UnderWay& done) {
  const ShardedHome::Unit& unit = home_.units()[done.unit];
  if (shared_ == nullptr) {
    done.transfer.Wait(CommTimes::During::kBackward);
    for (const at::Tensor& row : {done.sent, done.received}) spare_.push_back(row);
    at::Tensor sum = Transfers::Sum(shard_, done.received, unit.gradient.numel());
    if (DividesSum()) sum.div_(data_ranks_);
    return sum;
  }
  at::Tensor sum = at::empty_like(unit.gradient);
  shared_->Sum(done.number, done.sent, sum, CommTimes::During::kBackward);
  return sum;
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
    times_->NoteComplete(each.place);
  }
  times_->NoteWait(narrow_between_copies_.back().place, from, replicate_.timeline->Now(),
                   CommTimes::During::kBackward);
  narrow_between_copies_.clear();
}

void ShardedStrategy::AfterBackward(const Action& pass) {
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
  if (shared_ != nullptr) shared_->Publish();
  if (rows_ != nullptr) return;
  at::NoGradGuard no_grad;
  if (shared_ != nullptr) {
    for (size_t unit = 0; unit < home_.units().size(); ++unit) {
      if (!home_.units()[unit].members.empty()) shared_->Gather(unit, CommTimes::During::kUpdate);
    }
    return;
  }
  std::vector<Transfer> gathers;
  for (const ShardedHome::Unit& unit : home_.units()) {
    if (unit.members.empty()) continue;  // another stage has it
    gathers.push_back(Transfers::AllGather(shard_, unit.row, unit.shard));
  }
  for (Transfer& gather : gathers) gather.Wait(CommTimes::During::kUpdate);
}

at::Tensor ShardedStrategy::ShareSquaredNorm() {
  return measured_ ? local_->SquaredNorm() : at::Tensor();
}

}  // namespace dt::trainer
