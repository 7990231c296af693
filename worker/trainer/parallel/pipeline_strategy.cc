// pipeline_strategy.cc: see pipeline_strategy.h.
#include "worker/trainer/parallel/pipeline_strategy.h"

#include <utility>

#include "common/check.h"
#include "worker/trainer/parallel/gradient_norm.h"

namespace dt::trainer {

PipelineStrategy::PipelineStrategy(std::unique_ptr<Strategy> inner, StageLink& link, Mesh& mesh,
                                   Route ends)
    : inner_(std::move(inner)),
      link_(link),
      mesh_(mesh),
      tensor_(mesh.group(Axis::kTensor)),
      shard_(AreSpread(pieces()) ? mesh.group(Axis::kShard) : nullptr),
      pipeline_(mesh.group(Axis::kPipeline)),
      ends_(std::move(ends)) {
  GatherLayout();
}

// Gathers the layouts as one row of numbers, of equal length on all stages.
void PipelineStrategy::GatherLayout() {
  std::vector<double> mine;
  double bucket = 0;
  for (const std::vector<uint32_t>& numbers : inner_->Layout()) {
    for (const uint32_t number : numbers) {
      mine.push_back(number);
      mine.push_back(bucket);
    }
    bucket += 1;
  }
  mine.resize(2 * pieces().size() + 2, -1);
  layout_.clear();
  for (const std::vector<double>& stage : mesh_.Gather(Axis::kPipeline, mine)) {
    const size_t before = layout_.size();
    for (size_t i = 0; i < stage.size() && stage[i] >= 0; i += 2) {
      const size_t place = before + static_cast<size_t>(stage[i + 1]);
      if (place >= layout_.size()) layout_.resize(place + 1);
      layout_[place].push_back(static_cast<uint32_t>(stage[i]));
    }
  }
}

// Gathers the layout again after the first step, when buckets are rebuilt; they never change later.
void PipelineStrategy::AfterUpdate(int64_t step) {
  inner_->AfterUpdate(step);
  if (std::exchange(first_step_, false)) GatherLayout();
}

const Piece* PipelineStrategy::Tied() const {
  if (ends_.group == nullptr) return nullptr;
  const Piece& first = pieces().at(0);
  DT_CHECK(first.stage == 0 && first.here);
  return &first;
}

void PipelineStrategy::BeginStep(const StepNotes& notes) {
  link_.BeginStep();
  ends_.times->Restart();
  inner_->BeginStep(notes);
}

void PipelineStrategy::AfterBackward(const Action& pass) {
  inner_->AfterBackward(pass);
  if (!pass.last) return;
  if (const Piece* tied = Tied(); tied != nullptr && tied->value.numel() > 0) {
    at::NoGradGuard no_grad;
    const at::Tensor& gradient = tied->value.grad();
    const at::Tensor sum = gradient.contiguous();
    Transfers::AllReduce(ends_, sum).Wait(CommTimes::During::kBackward);
    if (!sum.is_same(gradient)) gradient.copy_(sum);
  }
  link_.Finish(CommTimes::During::kBackward);
}

at::Tensor PipelineStrategy::FinishGradients() {
  const int stage = link_.stage();
  return NormOver(pieces(),
                  [&](const Piece& piece) {
                    const bool cut = !piece.cut.IsWhole();
                    return piece.stage == stage &&
                           (cut || tensor_ == nullptr || tensor_->rank() == 0);
                  },
                  {tensor_, shard_, pipeline_});
}

CommTotals PipelineStrategy::Totals() {
  CommTotals totals = inner_->Totals();
  totals.Append(link_.Totals());
  totals.Append(ends_.times->Totals());
  return totals;
}

// Returns the copies within each stage, as separate sets, and the parameter that the first and the
// last stage share.
std::vector<Strategy::Copies> PipelineStrategy::copies() const {
  std::vector<Copies> all = inner_->copies();
  for (Copies& copies : all) {
    if (copies.set != Copies::kNobody) copies.set = copies.set * link_.stages() + link_.stage();
  }
  Copies ends{{}, Copies::kNobody};
  if (const Piece* tied = Tied(); tied != nullptr) {
    if (tied->value.numel() > 0) ends.tensors.push_back(tied->value.detach());
    ends.set = shard_ == nullptr ? 0 : shard_->rank();
    if (!tied->cut.IsWhole()) ends.set = ends.set * tensor_->size() + tensor_->rank();
  }
  all.push_back(std::move(ends));
  return all;
}

}  // namespace dt::trainer
