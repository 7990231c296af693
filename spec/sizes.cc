// sizes.cc: sizes that deal a global batch evenly.
#include "spec/sizes.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plan/stages.h"
#include "spec/program.h"

namespace dt::spec {
namespace {

// A longer list is shown by its ends.
constexpr size_t kSizesShown = 8;

}  // namespace

bool GangSizes::Reaches(int32_t size) const {
  if (size < least || size > most || size % (int64_t{shard} * model) != 0) return false;
  if (paired && !std::has_single_bit(static_cast<uint32_t>(size / model))) return false;
  return passes == 0 || passes % (size / model) == 0;
}

int32_t GangSizes::Below(int32_t size) const {
  for (int32_t next = std::min(size - 1, most); next >= least; --next) {
    if (Reaches(next)) return next;
  }
  return 0;
}

int32_t GangSizes::Above(int32_t size) const {
  for (int32_t next = std::max(size + 1, least); next <= most; ++next) {
    if (Reaches(next)) return next;
  }
  return 0;
}

std::vector<int32_t> GangSizes::All() const {
  std::vector<int32_t> all;
  for (int32_t size = least; size > 0; size = Above(size)) all.push_back(size);
  return all;
}

int32_t RanksOfModel(const v1::Spec& trial) {
  if (IsProgram(trial)) return 1;
  const int64_t ranks = int64_t{std::max(1, trial.parallel().tensor())} *
                        int64_t{std::max(1, trial.parallel().pipeline())};
  return static_cast<int32_t>(ranks);
}

int32_t DataRanksOf(const v1::Spec& trial) {
  return trial.resources().gpus() / RanksOfModel(trial);
}

int32_t ChunksEach(const v1::Spec& trial) {
  const v1::Parallel& parallel = trial.parallel();
  return parallel.schedule() == "interleaved" ? std::max(1, parallel.interleave()) : 1;
}

int64_t MicroStepsOf(const v1::Spec& trial) {
  const int64_t pass = int64_t{trial.train().batch_size()} * DataRanksOf(trial);
  return pass > 0 ? trial.train().global_batch_size() / pass : 0;
}

double BubbleOf(const v1::Spec& trial) {
  const int64_t stages = trial.parallel().pipeline(), micro_steps = MicroStepsOf(trial);
  return stages <= 1 || micro_steps <= 0
             ? 0
             : plan::BubbleRatio(stages, ChunksEach(trial), micro_steps);
}

int64_t GlobalBatchOf(const v1::Spec& trial, BatchSaid said) {
  const v1::Train& train = trial.train();
  if (said == BatchSaid::kYes && train.global_batch_size() > 0) return train.global_batch_size();
  if (train.global_batch_tokens() > 0) {
    return train.global_batch_tokens() / std::max(1, train.seq_len());
  }
  const int64_t passes = IsProgram(trial) ? 1 : std::max(1, trial.parallel().microbatches());
  return int64_t{train.batch_size()} * DataRanksOf(trial) * passes;
}

std::optional<GangSizes> SizesOf(const v1::Spec& trial) {
  const v1::Resources& resources = trial.resources();
  if (resources.min_gpus() <= 0 && resources.max_gpus() <= 0) return std::nullopt;
  GangSizes sizes;
  sizes.least = resources.min_gpus() > 0 ? resources.min_gpus() : resources.gpus();
  sizes.most = resources.max_gpus() > 0 ? resources.max_gpus() : resources.gpus();
  if (!IsProgram(trial)) {
    const int64_t batch = trial.train().batch_size();
    const int64_t global = GlobalBatchOf(trial, BatchSaid::kYes);
    if (batch <= 0 || global % batch != 0) return std::nullopt;  // the rules of trials refuse it
    sizes.passes = global / batch;
    if (trial.parallel().strategy() == "hsdp") {
      sizes.shard = std::max(1, trial.parallel().shard());
    }
    sizes.model = RanksOfModel(trial);
    sizes.paired = trial.parallel().strategy() == "gossip";
  }
  sizes.least = sizes.Above(sizes.least - 1);
  sizes.most = sizes.Below(sizes.most + 1);
  if (sizes.least == 0 || sizes.least >= sizes.most) return std::nullopt;
  return sizes;
}

std::vector<int32_t> ReachableSizes(const v1::Spec& trial) {
  const std::optional<GangSizes> sizes = SizesOf(trial);
  if (!sizes.has_value()) return {std::max(1, trial.resources().gpus())};
  return sizes->All();
}

std::string SizesText(const std::vector<int32_t>& sizes) {
  if (sizes.size() == 1) return absl::StrCat(sizes[0]);
  if (sizes.size() > kSizesShown) {
    const std::vector<int32_t> first(sizes.begin(), sizes.begin() + kSizesShown - 1);
    return absl::StrCat(absl::StrJoin(first, ", "), ", … or ", sizes.back());
  }
  const std::vector<int32_t> first(sizes.begin(), sizes.end() - 1);
  return absl::StrCat(absl::StrJoin(first, ", "), " or ", sizes.back());
}

}  // namespace dt::spec
