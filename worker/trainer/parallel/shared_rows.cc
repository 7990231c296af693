// shared_rows.cc: see shared_rows.h.
#include "worker/trainer/parallel/shared_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "worker/trainer/parallel/shared_buckets.h"

namespace dt::trainer {
namespace {

void Require(const absl::Status& status) {
  if (!status.ok()) C10_THROW_ERROR(DistError, std::string(status.message()));
}

// Returns the tensor of a unit that is in shared memory.
const at::Tensor& Placed(const ShardedHome& home, const ShardedHome::Unit& unit) {
  return home.rows() == ShardedHome::Rows::kStay ? unit.row : unit.shard;
}

size_t LargestRow(const ShardedHome& home) {
  size_t floats = 0;
  for (const ShardedHome::Unit& unit : home.units()) {
    floats = std::max(floats, SharedFloats(unit.row.numel()));
  }
  return floats;
}

}  // namespace

const float* PlaceOf(const HostReduce& ranks, int rank, const float* mine) {
  HostMemory& memory = *ranks.memory();
  return memory.Part(rank) + (mine - memory.Part(ranks.rank()));
}

void SumShares(const HostReduce& ranks, const float* mine, int64_t share, float* sum) {
  std::copy_n(PlaceOf(ranks, 0, mine), share, sum);
  for (int rank = 1; rank < ranks.memory()->shape().ranks; ++rank) {
    const float* const part = PlaceOf(ranks, rank, mine);
    for (int64_t i = 0; i < share; ++i) sum[i] += part[i];
  }
}

std::unique_ptr<SharedRows> SharedRows::Make(ShardedHome& home, const Route& shard) {
  size_t floats = 2 * LargestRow(home);
  for (const ShardedHome::Unit& unit : home.units()) {
    floats += SharedFloats(Placed(home, unit).numel());
  }
  std::shared_ptr<HostReduce> ranks = shard.group->ShareMemory(floats, Group::Spans::kOneHost);
  if (ranks == nullptr) return nullptr;
  std::unique_ptr<SharedRows> rows(new SharedRows(home, shard, std::move(ranks)));
  rows->PlaceRows();
  return rows;
}

void SharedRows::PlaceRows() {
  const std::shared_ptr<HostMemory>& memory = ranks_->memory();
  float* at = memory->Part(ranks_->rank());
  for (const ShardedHome::Unit& unit : home_.units()) {
    const at::Tensor& placed = Placed(home_, unit);
    std::copy_n(placed.const_data_ptr<float>(), placed.numel(), at);
    PlaceStorage(placed, memory, at);
    at += SharedFloats(placed.numel());
  }
  for (float*& staged : staged_) {
    staged = at;
    at += LargestRow(home_);
  }
}

void SharedRows::AwaitPosts(uint64_t number) { Require(ranks_->AwaitPosts(number)); }

void SharedRows::Publish() { published_ = ranks_->Post(); }

void SharedRows::Gather(size_t unit, CommTimes::During during) {
  const ShardedHome::Unit& of = home_.units()[unit];
  const size_t place = shard_.times->Post(CollectiveOp::kAllGather, shard_.axis, of.row.nbytes());
  const Timeline::Moment from = shard_.timeline->Now();
  AwaitPosts(published_);
  const int64_t share = of.shard.numel();
  const bool stays = home_.rows() == ShardedHome::Rows::kStay;
  float* const row = static_cast<float*>(of.row.storage().mutable_data());
  const float* const mine = Placed(home_, of).const_data_ptr<float>();
  for (int rank = 0; rank < shard_.group->size(); ++rank) {
    if (stays && rank == ranks_->rank()) continue;
    const float* const shard = PlaceOf(*ranks_, rank, mine) + (stays ? rank * share : 0);
    std::copy_n(shard, share, row + rank * share);
  }
  shard_.times->NoteComplete(place);
  shard_.times->NoteWait(place, from, shard_.timeline->Now(), during);
}

at::Tensor SharedRows::Place(int64_t numbers) {
  return at::from_blob(staged_[rows_staged_++ % 2], {numbers}, at::kFloat);
}

uint64_t SharedRows::Post() { return ranks_->Post(); }

void SharedRows::Sum(uint64_t number, const at::Tensor& row, const at::Tensor& sum,
                     CommTimes::During during) {
  const size_t place = shard_.times->Post(CollectiveOp::kReduceScatter, shard_.axis, row.nbytes());
  const Timeline::Moment from = shard_.timeline->Now();
  AwaitPosts(number);
  const int64_t share = sum.numel();
  SumShares(*ranks_, row.const_data_ptr<float>() + ranks_->rank() * share, share,
            sum.mutable_data_ptr<float>());
  shard_.times->NoteComplete(place);
  shard_.times->NoteWait(place, from, shard_.timeline->Now(), during);
}

}  // namespace dt::trainer
