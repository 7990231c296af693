// stage_part.cc: see stage_part.h.
#include "worker/trainer/model/stage_part.h"

#include "absl/strings/numbers.h"
#include "common/check.h"

namespace dt::trainer {
namespace {

constexpr std::string_view kEmbedding = "wte.weight";

}  // namespace

size_t UnitOf(std::string_view parameter) {
  constexpr std::string_view kBlocks = "h.";
  if (!parameter.starts_with(kBlocks)) return 0;
  const std::string_view rest = parameter.substr(kBlocks.size());
  const std::string_view number = rest.substr(0, rest.find('.'));
  size_t block = 0;
  DT_CHECK(absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &block));
  return block + 1;
}

StagePart::StagePart(const plan::ModelSize& model, int stages, int chunks_each, int stage)
    : stage_(stage), stages_(stages), tied_head_(model.tied_head) {
  const std::vector<plan::LayerRange> all =
      plan::DealLayers(model, int64_t{stages} * int64_t{chunks_each});
  for (size_t chunk = 0; chunk < all.size(); ++chunk) {
    const int holder = static_cast<int>(chunk) % stages;
    holders_.insert(holders_.end(), static_cast<size_t>(all[chunk].count), holder);
    if (holder == stage) chunks_.push_back(all[chunk]);
  }
}

int StagePart::HolderOf(std::string_view parameter) const {
  if (IsAll()) return 0;
  const size_t unit = UnitOf(parameter);
  if (unit > 0) return holders_.at(unit - 1);
  return parameter.starts_with("wte.") || parameter.starts_with("wpe.") ? 0 : stages_ - 1;
}

bool StagePart::IsTied(std::string_view parameter) const {
  return !IsAll() && tied_head_ && parameter == kEmbedding;
}

bool StagePart::Has(std::string_view parameter) const {
  return HolderOf(parameter) == stage_ || (IsTied(parameter) && stage_ == stages_ - 1);
}

int64_t StagePart::ChunkOf(std::string_view parameter) const {
  if (IsAll()) return 0;
  const auto layer = static_cast<int64_t>(UnitOf(parameter)) - 1;
  if (layer < 0) return stage_ == 0 ? 0 : static_cast<int64_t>(chunks_.size()) - 1;
  for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    const plan::LayerRange& range = chunks_[chunk];
    if (layer >= range.from && layer < range.from + range.count) return static_cast<int64_t>(chunk);
  }
  DT_CHECK(false);
  return 0;
}

}  // namespace dt::trainer
