// local_gradient.cc: see local_gradient.h.
#include "worker/trainer/parallel/local_gradient.h"

#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

namespace dt::trainer {
namespace {

class MeasuredHook final : public c10d::CommHookInterface {
 public:
  MeasuredHook(std::unique_ptr<c10d::CommHookInterface> hook, std::shared_ptr<LocalGradient> local)
      : hook_(std::move(hook)), local_(std::move(local)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    if (local_->wanted()) {
      local_->AddBucket(bucket.getBufferRef(), bucket.getParameters(), bucket.getGradients());
    }
    return hook_->runHook(bucket);
  }
  at::Tensor parseHookResult(const c10::IValue& result) override {
    return hook_->parseHookResult(result);
  }

 private:
  const std::unique_ptr<c10d::CommHookInterface> hook_;
  const std::shared_ptr<LocalGradient> local_;
};

}  // namespace

LocalGradient::LocalGradient(const std::vector<Piece>& pieces, ModelRanks ranks)
    : pieces_(pieces), ranks_(std::move(ranks)) {
  for (size_t number = 0; number < pieces_.size(); ++number) {
    const Piece& piece = pieces_[number];
    counts_.push_back(CountsOf(piece));
    all_here_ = all_here_ && counts_.back() == Counts::kHere;
    if (piece.here) of_parameter_[piece.value.unsafeGetTensorImpl()] = number;
  }
  squared_norm_ = at::zeros({}, at::TensorOptions(pieces_.at(0).value.device()).dtype(at::kFloat));
}

bool LocalGradient::IsShared(const Piece& piece) const {
  return ranks_.ends.group != nullptr && ranks_.stage.IsTied(piece.name);
}

LocalGradient::Counts LocalGradient::CountsOf(const Piece& piece) const {
  const bool whole = ranks_.tensor != nullptr && piece.cut.IsWhole();
  if (whole && ranks_.tensor->splits_tokens()) return Counts::kInShares;
  // With all tokens, the tensor ranks have the same gradient, so only the first counts it.
  if (whole && ranks_.tensor->group()->rank() != 0) return Counts::kElsewhere;
  return IsShared(piece) ? Counts::kInShares : Counts::kHere;
}

void LocalGradient::Restart(bool wanted) {
  wanted_ = wanted;
  squared_norm_.zero_();
  kept_.clear();
}

void LocalGradient::AddNorm(const at::Tensor& gradient) {
  squared_norm_ += at::linalg_vector_norm(gradient).square();
}

void LocalGradient::Add(const std::vector<std::pair<size_t, at::Tensor>>& gradients) {
  if (!wanted_) return;
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> here;
  for (const auto& [piece, gradient] : gradients) {
    switch (counts_.at(piece)) {
      case Counts::kHere:
        here.push_back(gradient);
        break;
      case Counts::kElsewhere:
        break;
      case Counts::kInShares:
        kept_[piece] = gradient.reshape({-1}).to(at::kBFloat16);
        break;
    }
  }
  if (!here.empty()) squared_norm_ += at::stack(at::_foreach_norm(here)).square().sum();
}

void LocalGradient::AddBucket(const at::Tensor& buffer, const std::vector<at::Tensor>& parameters,
                              const std::vector<at::Tensor>& gradients) {
  if (!wanted_) return;
  at::NoGradGuard no_grad;
  if (all_here_) return AddNorm(buffer);
  std::vector<std::pair<size_t, at::Tensor>> of_pieces;
  for (size_t i = 0; i < parameters.size(); ++i) {
    of_pieces.emplace_back(of_parameter_.at(parameters[i].unsafeGetTensorImpl()), gradients[i]);
  }
  Add(of_pieces);
}

// Sums the partial gradients: first over the tensor ranks, then between the first and the last
// stage, so that both stages add complete sums.
void LocalGradient::SumShares() {
  TensorGroup* const tensor = ranks_.tensor;
  if (tensor != nullptr && tensor->splits_tokens()) {
    std::vector<at::Tensor> shares;
    for (const auto& [piece, share] : kept_) {
      if (pieces_[piece].cut.IsWhole()) shares.push_back(share);
    }
    tensor->SetDuring(CommTimes::During::kUpdate);
    tensor->SumInPlace(shares);
    tensor->SetDuring(CommTimes::During::kForward);
  }
  for (const auto& [piece, share] : kept_) {
    const bool shared = IsShared(pieces_[piece]);
    if (shared) Transfers::AllReduce(ranks_.ends, share).Wait(CommTimes::During::kUpdate);
    const bool first_of_layer =
        tensor == nullptr || !pieces_[piece].cut.IsWhole() || tensor->group()->rank() == 0;
    const bool first_end = !shared || ranks_.stage.stage() == 0;
    if (first_of_layer && first_end) AddNorm(share.to(at::kFloat));
  }
  kept_.clear();
}

at::Tensor LocalGradient::SquaredNorm() {
  at::NoGradGuard no_grad;
  SumShares();
  at::Tensor sum = squared_norm_.view({1});
  if (ranks_.tensor != nullptr) sum = ranks_.tensor->group()->Concatenated(sum).sum().view({1});
  if (ranks_.pipeline != nullptr) sum = ranks_.pipeline->Concatenated(sum).sum().view({1});
  return sum.squeeze();
}

std::unique_ptr<c10d::CommHookInterface> MakeMeasured(std::unique_ptr<c10d::CommHookInterface> hook,
                                                      std::shared_ptr<LocalGradient> local) {
  return std::make_unique<MeasuredHook>(std::move(hook), std::move(local));
}

}  // namespace dt::trainer
