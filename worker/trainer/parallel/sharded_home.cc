// sharded_home.cc: rows, shards and pieces.
#include "worker/trainer/parallel/sharded_home.h"

#include <algorithm>
#include <utility>

namespace dt::trainer {
namespace {

int64_t RoundedUp(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

// Returns the intersection of two extents; no elements if they are disjoint.
Extent Common(const Extent& a, const Extent& b) {
  const int64_t from = std::max(a.from, b.from);
  const int64_t end = std::min(a.from + a.count, b.from + b.count);
  return {from, std::max<int64_t>(end - from, 0)};
}

// Frees the row's storage, also for all views of it. Returns the memory.
at::DataPtr Empty(const at::Tensor& row) {
  c10::StorageImpl& storage = *row.storage().unsafeGetStorageImpl();
  at::DataPtr memory = storage.set_data_ptr(at::DataPtr(nullptr, row.device()));
  storage.set_nbytes(0);
  return memory;
}

}  // namespace

size_t ShardedHome::UnitFor(const std::string& name) const {
  if (norms_ == Norms::kOutside && name.find(".ln_") != std::string::npos) return 0;
  return part_.stage.IsTied(name) ? static_cast<size_t>(part_.stage.layers()) + 1 : UnitOf(name);
}

at::Tensor ShardedHome::Keep(const std::string& name, const at::Tensor& initial) {
  const size_t unit = UnitFor(name);
  if (units_.size() <= unit) units_.resize(unit + 1);
  // A block is complete when the next one starts. Laying it out now means that at most one block is
  // in memory twice.
  const bool is_block = unit > 1 && unit == UnitOf(name);
  if (is_block && !units_[unit - 1].row.defined()) LayOut(units_[unit - 1]);
  Piece piece = PieceOf(name, initial, part_, device_);
  at::Tensor parameter;
  if (piece.here) {
    parameter = TakenPart(piece.cut, initial).to(device_).requires_grad_();
    units_[unit].members.push_back({parameter, pieces_.size(), {}});
  }
  pieces_.push_back(std::move(piece));
  return parameter;
}

void ShardedHome::Close() {
  for (Unit& unit : units_) {
    if (!unit.row.defined()) LayOut(unit);
  }
}

void ShardedHome::LayOut(Unit& unit) {
  at::NoGradGuard no_grad;
  int64_t floats = 0;
  for (Member& member : unit.members) {
    member.in_row = {floats, member.parameter.numel()};
    floats += RoundedUp(member.in_row.count, kShardFloats);
  }
  const int64_t share = RoundedUp(floats, kShardFloats * ranks_) / ranks_;
  const at::TensorOptions options = at::TensorOptions(device_).dtype(at::kFloat);
  unit.row = at::zeros({share * ranks_}, options);
  unit.gradient = at::zeros({share}, options);
  for (const Member& member : unit.members) {
    const at::Tensor place =
        unit.row.narrow(0, member.in_row.from, member.in_row.count).view(member.parameter.sizes());
    place.copy_(member.parameter.detach());
    member.parameter.set_data(place);
  }
  unit.shard = unit.row.narrow(0, rank_ * share, share);
  if (rows_ == Rows::kComeAndGo) {
    unit.shard = unit.shard.clone();
    Empty(unit.row);
  }
  for (const Member& member : unit.members) {
    Piece& piece = pieces_[member.piece];
    for (int rank = 0; rank < ranks_; ++rank) {
      const Extent held = Common(member.in_row, {rank * share, share});
      piece.spread.push_back({held.count == 0 ? 0 : held.from - member.in_row.from, held.count});
      if (rank != rank_) continue;
      const int64_t in_shard = held.count == 0 ? 0 : held.from - rank * share;
      piece.from = piece.spread.back().from;
      piece.value = unit.shard.narrow(0, in_shard, held.count).detach().requires_grad_();
      piece.value.mutable_grad() = unit.gradient.narrow(0, in_shard, held.count);
    }
  }
}

void ShardedHome::TakeRow(size_t unit) {
  const at::Tensor& row = units_.at(unit).row;
  c10::StorageImpl& storage = *row.storage().unsafeGetStorageImpl();
  const auto bytes = static_cast<size_t>(row.numel()) * sizeof(float);
  const auto spare = spare_.find(bytes);
  if (spare == spare_.end()) {
    storage.set_data_ptr_noswap(storage.allocator()->allocate(bytes));
  } else {
    storage.set_data_ptr_noswap(std::move(spare->second));
    spare_.erase(spare);
  }
  storage.set_nbytes(bytes);
}

void ShardedHome::DropRow(size_t unit) {
  const at::Tensor& row = units_.at(unit).row;
  const size_t bytes = row.storage().nbytes();
  spare_.emplace(bytes, Empty(row));
}

void ShardedHome::BeginPass(bool leaves_blocks) {
  if (keeper_ != nullptr) keeper_->BeginPass(leaves_blocks);
}

void ShardedHome::EndPass() {
  if (keeper_ != nullptr) keeper_->EndPass();
}

at::Tensor ShardedHome::Around(size_t unit, const at::Tensor& x, const Through& through) {
  return keeper_ == nullptr ? through(x) : keeper_->Around(unit, x, through);
}

}  // namespace dt::trainer
