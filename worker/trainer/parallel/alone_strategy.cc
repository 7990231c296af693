// alone_strategy.cc: see alone_strategy.h.
#include "worker/trainer/parallel/alone_strategy.h"

#include <utility>

namespace dt::trainer {

AloneStrategy::AloneStrategy(const std::vector<Piece>& pieces, StagePart part,
                             std::shared_ptr<LocalGradient> local)
    : pieces_(pieces), part_(std::move(part)), local_(std::move(local)) {}

void AloneStrategy::BeginStep(const StepNotes& notes) {
  wanted_ = notes.measured;
  measured_ = false;
  local_->Restart(wanted_);
}

// Skips a first micro-step that completes the gradients: it is the full batch, not a part.
void AloneStrategy::AfterBackward(const Action& pass) {
  if (!wanted_ || pass.micro_step != 0 || pass.completes) return;
  std::vector<std::pair<size_t, at::Tensor>> gradients;
  for (size_t number = 0; number < pieces_.size(); ++number) {
    const Piece& piece = pieces_[number];
    if (piece.here && part_.ChunkOf(piece.name) == pass.chunk) {
      gradients.emplace_back(number, piece.value.grad());
    }
  }
  local_->Add(gradients);
  measured_ = true;
}

at::Tensor AloneStrategy::ShareSquaredNorm() {
  return measured_ ? local_->SquaredNorm() : at::Tensor();
}

}  // namespace dt::trainer
