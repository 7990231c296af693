// sharded_home.h: parameters in units. Each unit is one flat row of numbers that is split evenly
// among the ranks. A rank updates its shard of each unit, and holds the moments of that shard only.
//
// Role:      storage for zero1, zero2, zero3 and hsdp. With a flat row, a unit needs one message
//            instead of one per parameter, and all shards have the same size.
// Ownership: owns the rows; the model's parameters and the pieces are views of them.
// Threads:   the training thread.
// Errors:    those of ParameterHome.
// Source:    Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
//            Models", 2020; Zhao et al., "PyTorch FSDP", 2023, 3.2 (flat parameters).
// Tests:     tests/worker/trainer/parallel/sharded_home_test.cc
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker/trainer/model/parameter_home.h"

namespace dt::trainer {

// Alignment of shards: a cache line.
inline constexpr int64_t kShardFloats = 16;

// Provides the rows of a home that keeps only shards, when the model uses them.
class RowKeeper {
 public:
  virtual ~RowKeeper() = default;
  virtual void BeginPass(bool leaves_blocks) = 0;
  virtual void EndPass() = 0;
  virtual at::Tensor Around(size_t unit, const at::Tensor& x,
                            const ParameterHome::Through& through) = 0;
};

class ShardedHome final : public ParameterHome {
 public:
  enum class Rows { kStay, kComeAndGo };
  // Place of the norms of blocks. With kOutside, a block's row has only inputs of matrix products,
  // so it may be gathered in their type. REQUIRES for kOutside: the rank has all layers.
  enum class Norms { kInBlocks, kOutside };
  struct Member {
    at::Tensor parameter;  // parameter of the model: a view of the unit's row
    size_t piece = 0;      // index in pieces()
    Extent in_row;
  };
  struct Unit {
    std::vector<Member> members;
    at::Tensor row;       // full row; its length is a multiple of kShardFloats × ranks
    at::Tensor shard;     // this rank's part of the row; a view of it if rows stay
    at::Tensor gradient;  // of the shard
  };

  // REQUIRES: 0 <= rank < ranks. `part`: the part of each parameter that the rows hold.
  ShardedHome(c10::Device device, int rank, int ranks, Rows rows, ModelPart part = {},
              Norms norms = Norms::kInBlocks)
      : device_(device),
        rank_(rank),
        ranks_(ranks),
        rows_(rows),
        norms_(norms),
        part_(std::move(part)) {}
  c10::Device device() const override { return device_; }
  at::Tensor Keep(const std::string& name, const at::Tensor& initial) override;
  void Close() override;
  const std::vector<Piece>& pieces() const override { return pieces_; }
  // Returns the units. Unit 0 holds the parameters outside of blocks. A unit has no members if
  // another pipeline stage has the block. A parameter shared by the first and the last stage is a
  // unit of its own, the last one, so that both stages lay it out alike. REQUIRES: closed.
  const std::vector<Unit>& units() const { return units_; }
  Rows rows() const { return rows_; }
  Norms norms() const { return norms_; }
  const StagePart& stage() const { return part_.stage; }

  // Allocates memory for the unit's row, uninitialised; and removes it, after which the row must
  // not be used. Dropped memory is kept for rows of the same size, as blocks have: allocating it
  // again each time would leave holes in the heap and cost page faults.
  void TakeRow(size_t unit);
  void DropRow(size_t unit);
  void DropSpareRows() { spare_.clear(); }
  // Sets the keeper; nullptr if rows are always present, or nothing computes.
  void SetKeeper(RowKeeper* keeper) { keeper_ = keeper; }
  void BeginPass(bool leaves_blocks) override;
  void EndPass() override;
  at::Tensor Around(size_t unit, const at::Tensor& x, const Through& through) override;

 private:
  size_t UnitFor(const std::string& name) const;
  void LayOut(Unit& unit);

  const c10::Device device_;
  const int rank_, ranks_;
  const Rows rows_;
  const Norms norms_;
  const ModelPart part_;
  RowKeeper* keeper_ = nullptr;
  std::multimap<size_t, at::DataPtr> spare_;  // by bytes
  std::vector<Piece> pieces_;
  std::vector<Unit> units_;
};

}  // namespace dt::trainer
