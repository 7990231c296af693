// sizes.cc: the sizes of a gang that divide a global batch evenly.
#include "spec/sizes.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/arithmetic.h"
#include "common/limits.h"
#include "plan/stages.h"
#include "spec/program.h"

namespace dt::spec {
namespace {

// A longer list is shown by its first entries and its last.
constexpr size_t kSizesShown = 8;

// Returns how many slots belong together: sizes are multiples of it. At least 1.
int64_t UnitOf(const GangSizes& sizes) {
  return BoundedProduct({std::max(1, sizes.shard), std::max(1, sizes.model)});
}

// Returns the trial's bounds and the demands of its batch; the bounds need not be valid sizes.
// nullopt: the batch cannot be divided at all, which the rules for trials refuse.
std::optional<GangSizes> BoundsOf(const v1::Spec& trial) {
  const v1::Resources& resources = trial.resources();
  GangSizes sizes;
  sizes.least = resources.min_gpus() > 0 ? resources.min_gpus() : resources.gpus();
  sizes.most = resources.max_gpus() > 0 ? resources.max_gpus() : resources.gpus();
  sizes.least = std::max(1, sizes.least);
  sizes.most = std::min(sizes.most, limits::kWorldSizeMax);
  if (IsProgram(trial)) return sizes;
  const int64_t batch = trial.train().batch_size();
  const int64_t global = GlobalBatchOf(trial, BatchGiven::kYes);
  if (batch <= 0 || global <= 0 || global % batch != 0) return std::nullopt;
  sizes.passes = global / batch;
  if (trial.parallel().strategy() == "hsdp") sizes.shard = std::max(1, trial.parallel().shard());
  sizes.model = RanksOfModel(trial);
  sizes.paired = trial.parallel().strategy() == "gossip";
  return sizes;
}

}  // namespace

bool GangSizes::Reaches(int32_t size) const {
  if (size < 1 || size < least || size > most || size % UnitOf(*this) != 0) return false;
  const int32_t data_ranks = size / std::max(1, model);  // at least 1: size is a multiple of
                                                         // `model`
  if (paired && !std::has_single_bit(static_cast<uint32_t>(data_ranks))) return false;
  return passes == 0 || passes % data_ranks == 0;
}

int32_t GangSizes::Below(int32_t size) const {
  const int64_t unit = UnitOf(*this);
  const int64_t from = std::min(int64_t{size} - 1, int64_t{most});
  for (int64_t next = from / unit * unit; next >= std::max(1, least); next -= unit) {
    if (Reaches(static_cast<int32_t>(next))) return static_cast<int32_t>(next);
  }
  return 0;
}

int32_t GangSizes::Above(int32_t size) const {
  const int64_t unit = UnitOf(*this);
  const int64_t from = std::max({int64_t{size} + 1, int64_t{least}, int64_t{1}});
  if (from > most || unit > most) return 0;
  for (int64_t next = (from + unit - 1) / unit * unit; next <= most; next += unit) {
    if (Reaches(static_cast<int32_t>(next))) return static_cast<int32_t>(next);
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
  return static_cast<int32_t>(std::min<int64_t>(ranks, std::numeric_limits<int32_t>::max()));
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

int64_t GlobalBatchOf(const v1::Spec& trial, BatchGiven said) {
  const v1::Train& train = trial.train();
  if (said == BatchGiven::kYes && train.global_batch_size() > 0) return train.global_batch_size();
  if (train.global_batch_tokens() > 0) {
    return train.global_batch_tokens() / std::max(1, train.seq_len());
  }
  const int64_t passes = IsProgram(trial) ? 1 : std::max(1, trial.parallel().microbatches());
  return BoundedProduct({std::max(0, train.batch_size()), std::max(0, DataRanksOf(trial)), passes});
}

std::optional<GangSizes> SizesOf(const v1::Spec& trial) {
  const v1::Resources& resources = trial.resources();
  if (resources.min_gpus() <= 0 && resources.max_gpus() <= 0) return std::nullopt;
  std::optional<GangSizes> sizes = BoundsOf(trial);
  if (!sizes.has_value()) return std::nullopt;
  sizes->least = sizes->Above(0);
  if (sizes->least == 0) return std::nullopt;
  sizes->most = sizes->Below(sizes->most + 1);
  if (sizes->least >= sizes->most) return std::nullopt;
  return sizes;
}

std::vector<int32_t> ReachableSizes(const v1::Spec& trial) {
  const std::optional<GangSizes> sizes = SizesOf(trial);
  if (!sizes.has_value()) return {std::max(1, trial.resources().gpus())};
  return sizes->All();
}

int32_t LeastSize(const v1::Spec& trial) {
  const std::optional<GangSizes> sizes = SizesOf(trial);
  return sizes.has_value() ? sizes->least : std::max(1, trial.resources().gpus());
}

int32_t LargestSize(const v1::Spec& trial) {
  const std::optional<GangSizes> sizes = SizesOf(trial);
  return sizes.has_value() ? sizes->most : std::max(1, trial.resources().gpus());
}

std::vector<int32_t> DealtSizes(const v1::Spec& trial) {
  const std::optional<GangSizes> bounds = BoundsOf(trial);
  if (!bounds.has_value()) return {};
  std::vector<int32_t> sizes;
  for (int32_t size = bounds->Above(0); size > 0; size = bounds->Above(size)) {
    sizes.push_back(size);
  }
  return sizes;
}

std::string SizesText(const GangSizes& sizes) {
  std::vector<int32_t> shown;
  for (int32_t size = sizes.least; size > 0 && shown.size() <= kSizesShown;
       size = sizes.Above(size)) {
    shown.push_back(size);
  }
  // The text shows the last size in the place of the ninth.
  if (shown.size() > kSizesShown) shown.back() = sizes.most;
  return SizesText(shown);
}

std::string SizesText(const std::vector<int32_t>& sizes) {
  if (sizes.empty()) return "";
  if (sizes.size() == 1) return absl::StrCat(sizes[0]);
  if (sizes.size() > kSizesShown) {
    const std::vector<int32_t> first(sizes.begin(), sizes.begin() + kSizesShown - 1);
    return absl::StrCat(absl::StrJoin(first, ", "), ", … or ", sizes.back());
  }
  const std::vector<int32_t> first(sizes.begin(), sizes.end() - 1);
  return absl::StrCat(absl::StrJoin(first, ", "), " or ", sizes.back());
}

}  // namespace dt::spec
