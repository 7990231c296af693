// parameter_home.h: storage of parameters. The model gives each parameter to its home and computes
// with the tensor that it gets back. The optimizer and checkpoints see the home's content as
// pieces.
//
// Role:      the abstraction for sharding: a home that keeps a part of each parameter changes
//            neither the model nor the files.
// Ownership: a home owns the storage; model, optimizer and strategy share its tensors.
// Threads:   the training thread.
// Errors:    LibTorch's exceptions (out of memory among them) pass through.
// Tests:     tests/worker/trainer/model/model_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/trainer/device/torch_prefix.h"
#include "worker/trainer/model/cut.h"
#include "worker/trainer/model/stage_part.h"

namespace dt::trainer {

// Range of consecutive elements.
struct Extent {
  int64_t from = 0, count = 0;
  bool operator==(const Extent&) const = default;
};

// A rank's share of a parameter, or of a moment of it: all of it, or a part, possibly empty.
// Every rank has the same pieces in the same order. A parameter is first cut among tensor-parallel
// ranks; what remains is spread (sharded) over the ranks that share it. With a pipeline, each stage
// has parameters of which other stages have nothing.
struct Piece {
  std::string name;            // of the full parameter
  std::vector<int64_t> shape;  // of the full parameter
  int64_t from = 0;            // first element within the cut part
  at::Tensor value;            // a leaf; a parameter's gradient is value.grad()
  std::vector<Extent> spread;  // each rank's extent, in rank order; empty: every rank has all of it
  Cut cut;
  bool staged = false;  // stages have different pieces
  int stage = 0;        // stage that has this piece and speaks for it
  bool here = true;     // false: this rank's stage does not have it, and value is empty

  bool IsWhole() const { return !staged && spread.empty() && cut.IsWhole(); }
};
bool AreWhole(const std::vector<Piece>& pieces);
// Returns whether pieces are sharded.
bool AreSpread(const std::vector<Piece>& pieces);
// Overwrites the piece with its part of `whole`, which may be on any device.
void Fill(const Piece& piece, const at::Tensor& whole);
// Returns the norm of all gradients together, on the device: reading it waits for the device.
at::Tensor GradientNorm(const std::vector<Piece>& pieces);

class ParameterHome {
 public:
  using Through = std::function<at::Tensor(const at::Tensor&)>;
  virtual ~ParameterHome() = default;
  virtual c10::Device device() const = 0;
  // Takes a parameter's initial value, drawn on the CPU. Returns the tensor with which the model
  // computes: of the same shape, or of its cut part's, on device(), with a gradient; undefined if
  // another stage has it. All ranks add the same parameters in the same order, one at a time.
  virtual at::Tensor Keep(const std::string& name, const at::Tensor& initial) = 0;
  // Ends the adding of parameters.
  virtual void Close() {}
  // Returns the pieces in the order in which they were added. REQUIRES: closed.
  virtual const std::vector<Piece>& pieces() const = 0;

  // The model calls the functions below around its computation, in the same order on every rank, so
  // that a home may hold parameters only while they are used.
  //
  // BeginPass and EndPass enclose a pass over the model or some of its blocks. `leaves_blocks`: the
  // pass also uses parameters outside of blocks.
  virtual void BeginPass(bool /*leaves_blocks*/) {}
  virtual void EndPass() {}
  // Returns `through(x)`, which uses the parameters of a block's unit.
  virtual at::Tensor Around(size_t /*unit*/, const at::Tensor& x, const Through& through) {
    return through(x);
  }
};

// Part of the model that a rank has: of cut parameters, and of the layers.
struct ModelPart {
  int cut = 0, cuts = 1;
  StagePart stage;
};
// Returns a piece with name, shape and owner, but without a value.
Piece PieceOf(const std::string& name, const at::Tensor& initial, const ModelPart& part,
              c10::Device device);

// A home without sharding: every rank holds each parameter, or its cut part, in full.
class WholeHome final : public ParameterHome {
 public:
  explicit WholeHome(c10::Device device, ModelPart part = {})
      : device_(device), part_(std::move(part)) {}
  c10::Device device() const override { return device_; }
  at::Tensor Keep(const std::string& name, const at::Tensor& initial) override;
  const std::vector<Piece>& pieces() const override { return pieces_; }

 private:
  const c10::Device device_;
  const ModelPart part_;
  std::vector<Piece> pieces_;
};

}  // namespace dt::trainer
