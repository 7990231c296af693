// alone_strategy.h: one rank has the full batch, so nothing is sent. For the noise scale, the first
// micro-step serves as the smaller batch.
//
// Ownership: borrows the pieces.
// Threads:   the training thread.
// Errors:    those of Strategy.
// Tests:     tests/worker/trainer/run/attempt_test.cc, noise_test.cc
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/parallel/local_gradient.h"
#include "worker/trainer/parallel/strategy.h"

namespace dt::trainer {

class AloneStrategy final : public Strategy {
 public:
  AloneStrategy(const std::vector<Piece>& pieces, StagePart part,
                std::shared_ptr<LocalGradient> local);

  const std::vector<Piece>& pieces() const override { return pieces_; }
  void BeginStep(const StepNotes& notes) override;
  void BeforeBackward(const Action& /*pass*/) override {}
  void AfterBackward(const Action& pass) override;
  at::Tensor FinishGradients() override { return GradientNorm(pieces_); }
  void AfterUpdate(int64_t /*step*/) override {}
  at::Tensor ShareSquaredNorm() override;
  bool MeasuresMicroStep() const override { return true; }
  CommTotals Totals() override { return {}; }
  BucketLayout Layout() const override { return {}; }

 private:
  const std::vector<Piece>& pieces_;
  const StagePart part_;
  const std::shared_ptr<LocalGradient> local_;
  bool wanted_ = false;
  bool measured_ = false;  // a smaller batch was measured
};

}  // namespace dt::trainer
