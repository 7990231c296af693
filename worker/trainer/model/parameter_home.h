// parameter_home.h: where parameters live. The model asks its home to keep each one and computes
// with what it gets back; the optimizer and checkpoints see what the home holds, as pieces.
//
// Role:      the seam for sharding: a home that keeps a part of each parameter changes neither the
//            model nor the files.
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

// A run of elements of a whole.
struct Extent {
  int64_t from = 0, count = 0;
  bool operator==(const Extent&) const = default;
};

// What a rank holds of one parameter, or of a moment of one: all of it or a part, which may have no
// element. Every rank has as many pieces, of the same wholes in the same order. A whole is cut
// first, among the ranks of each layer; what they have of it is spread over those that share it.
// Where a pipeline has stages, each has wholes that others have nothing of.
struct Piece {
  std::string name;            // of the whole
  std::vector<int64_t> shape;  // of the whole
  int64_t from = 0;            // its first element in what the cut leaves
  at::Tensor value;            // a leaf; of a parameter, its gradient is value.grad()
  std::vector<Extent>
      spread;  // what each rank holds of that, in their order; empty: each all of it
  Cut cut;
  bool staged = false;  // stages have different ones
  int stage = 0;        // that has this one and speaks for it
  bool here = true;     // false: this rank's stage has none of it, and the value no element

  bool IsWhole() const { return !staged && spread.empty() && cut.IsWhole(); }
};
bool AreWhole(const std::vector<Piece>& pieces);
// Whether ranks share what they hold of wholes.
bool AreSpread(const std::vector<Piece>& pieces);
// Overwrites what the piece is of `whole`, which is on any device.
void Fill(const Piece& piece, const at::Tensor& whole);
// The norm of all gradients together, on the device: reading it waits for the device.
at::Tensor GradientNorm(const std::vector<Piece>& pieces);

class ParameterHome {
 public:
  using Through = std::function<at::Tensor(const at::Tensor&)>;
  virtual ~ParameterHome() = default;
  virtual c10::Device device() const = 0;
  // Takes the parameter's first value, drawn on the CPU, and gives what the model is to compute
  // with: of the same shape, or of its part's, on device(), with a gradient; undefined where
  // another stage has it. Parameters come one at a time and in the same order on every rank.
  virtual at::Tensor Keep(const std::string& name, const at::Tensor& initial) = 0;
  // All have come.
  virtual void Close() {}
  // In the order in which they came. REQUIRES: closed.
  virtual const std::vector<Piece>& pieces() const = 0;

  // The model calls what follows around its computation, in the same order on every rank: a home
  // may hold parameters only while they are used.
  // Around a pass over the model, or over some of its blocks; `leaves_blocks`: what is outside of
  // them is used too.
  virtual void BeginPass(bool /*leaves_blocks*/) {}
  virtual void EndPass() {}
  // `through(x)`, which uses the parameters of a block's unit.
  virtual at::Tensor Around(size_t /*unit*/, const at::Tensor& x, const Through& through) {
    return through(x);
  }
};

// Which part of the model a rank has: of what is cut, and of its layers.
struct ModelPart {
  int cut = 0, cuts = 1;
  StagePart stage;
};
// A piece of which nothing is known yet but whose it is.
Piece PieceOf(const std::string& name, const at::Tensor& initial, const ModelPart& part,
              c10::Device device);

// Every rank holds every parameter whole, or of what is cut all of its part.
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
