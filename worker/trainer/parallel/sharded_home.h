// sharded_home.h: parameters in units, each one row of numbers that is cut evenly among the ranks:
// a rank updates its shard of each unit, and holds the moments of that alone.
//
// Role:      what zero1, zero2, zero3 and hsdp hold. Cut as a row, a unit needs one message in
//            place of one a parameter, and every shard has the same size.
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

// Shards begin on cache lines.
inline constexpr int64_t kShardFloats = 16;

// Has the rows of a home that keeps shards alone there where the model uses them.
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
  // Where the norms of blocks lie: kOutside leaves in a block's row what products take alone, which
  // may then be gathered as products take it. REQUIRES of that: the rank has all layers.
  enum class Norms { kInBlocks, kOutside };
  struct Member {
    at::Tensor parameter;  // what the model computes with: a view of the unit's row
    size_t piece = 0;      // place in pieces()
    Extent in_row;
  };
  struct Unit {
    std::vector<Member> members;
    at::Tensor row;       // all of it; a multiple of kShardFloats times the ranks
    at::Tensor shard;     // this rank's part of the row; a view of it where rows stay
    at::Tensor gradient;  // of the shard
  };

  // REQUIRES: 0 <= rank < ranks. `part`: what of each parameter lies in the rows.
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
  // Unit 0 first; one without members where another stage of a pipeline has the block. What the
  // first and the last stage have both is a unit of its own, the last one, so that it lies in both
  // alike. REQUIRES: closed.
  const std::vector<Unit>& units() const { return units_; }
  Rows rows() const { return rows_; }
  Norms norms() const { return norms_; }
  const StagePart& stage() const { return part_.stage; }

  // Memory for the unit's row, of which nothing is known; and none, where it must not be used.
  // What was dropped is taken again by rows of the same size, which blocks have: memory that came
  // and went would leave holes in the heap, and cost page faults.
  void TakeRow(size_t unit);
  void DropRow(size_t unit);
  void DropSpareRows() { spare_.clear(); }
  // nullptr: rows are there always, or nobody computes.
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
