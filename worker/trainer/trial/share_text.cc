// share_text.cc: see share_text.h.
#include "worker/trainer/trial/share_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "plan/stages.h"
#include "worker/trainer/trial/flops.h"

namespace dt::trainer {
namespace {

// Describes a rank's position among the ranks that hold one model replica (parallel/mesh.h).
std::string PlaceText(const TrialSpec& spec, const plan::StepSize& step, int rank, int ranks) {
  std::vector<std::string> parts;
  if (spec.pipeline > 1) {
    const int64_t stage = rank / std::max<int64_t>(1, ranks / spec.pipeline);
    const int64_t passes = step.micro_steps * step.chunks_each;
    const auto order =
        step.forward_first ? plan::PassOrder::kForwardFirst : plan::PassOrder::kAlternating;
    const int64_t under_way = std::min(
        passes, 1 + plan::WarmUpPasses(order, step.stages, step.chunks_each, stage, passes));
    const int64_t whole = (under_way + step.chunks_each - 1) / step.chunks_each;
    parts.push_back(absl::StrCat("stage ", stage, " of ", spec.pipeline, ", with ", whole,
                                 whole == 1 ? " micro-batch" : " micro-batches", " under way"));
  }
  if (spec.tensor > 1) {
    parts.push_back(
        absl::StrCat("part ", rank % spec.tensor, " of ", spec.tensor, " of each layer"));
  }
  return parts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(parts, "; "), ")");
}

}  // namespace

plan::StepSize StepSizeOf(const TrialSpec& spec, const StepPlan& plan, Compute compute, bool cuda) {
  return {.sequences = plan.batch.micro_batch,
          .micro_steps = plan.batch.micro_steps(),
          .seq_len = spec.train.seq_len,
          .half = compute == Compute::kBf16 || compute == Compute::kFp16,
          .dropout = spec.model.dropout > 0,
          .keeps_inputs_alone = spec.model.keep == ModelSpec::Keep::kBlockInputs,
          .ranks = plan.batch.world_size,
          .tensor = spec.tensor,
          .sequence = spec.sequence,
          .stages = spec.pipeline,
          .chunks_each = spec.ChunksEach(),
          .forward_first = spec.pipeline_schedule == PipelineSchedule::kGPipe,
          .shard = std::max<int64_t>(1, spec.shard),
          .sync_every = std::max<int64_t>(1, spec.sync_every),
          .outer = spec.outer_lr != 1 || spec.outer_momentum > 0,
          .sharing = spec.sharing,
          .carries_over =
              spec.compression == Compression::kPowerSgd || spec.compression == Compression::kTopK,
          .narrow = spec.wire != Wire::kFp32,
          .cuda = cuda};
}

std::string ShareText(const TrialSpec& spec, const StepPlan& plan, int rank, int ranks,
                      Compute compute, bool cuda) {
  std::string text = absl::StrCat("rank ", rank, " of ", ranks);
  if (plan.target_steps == 0) return text;
  const plan::StepSize step = StepSizeOf(spec, plan, compute, cuda);
  absl::StrAppend(&text, PlaceText(spec, step, rank, ranks), ", where `dtctl plan` estimates ",
                  FormatBytes(plan::MemoryBytes(SizeOf(spec.model), step)));
  return text;
}

}  // namespace dt::trainer
